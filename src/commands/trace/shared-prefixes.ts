import type { TraceRequest } from '../../lab/traces/trace.ts';

/** What prompts have in common with earlier ones to the same model, in whole blocks. */
export interface SharedPrefixes {
  readonly blockTokens: number;
  /** The share of all prompt tokens that begin an earlier prompt: the most a cache can save. */
  readonly sharedTokens: number;
  /** The share of the requests of which that is so for at least one block. */
  readonly sharingRequests: number;
  /** What a cache has to hold so that none of it is ever computed twice. */
  readonly distinctTokens: number;
}

/** Adds up what the prompts of a trace share. */
export class PrefixSums {
  readonly #blockTokens: number;
  #requests = 0;
  #promptTokens = 0;
  #sharedTokens = 0;
  #sharing = 0;

  constructor(blockTokens: number) {
    this.#blockTokens = blockTokens;
  }

  /** `knownBlocks`: how many of its first blocks an earlier prompt began with. */
  add({ promptTokens }: TraceRequest, knownBlocks: number): void {
    this.#requests += 1;
    this.#promptTokens += promptTokens;
    this.#sharedTokens += Math.min(promptTokens, knownBlocks * this.#blockTokens);
    if (knownBlocks > 0) this.#sharing += 1;
  }

  /** Undefined where no request has blocks. */
  of(distinctBlocks: number): SharedPrefixes | undefined {
    if (distinctBlocks === 0) return undefined;
    return {
      blockTokens: this.#blockTokens,
      sharedTokens: this.#sharedTokens / this.#promptTokens,
      sharingRequests: this.#sharing / this.#requests,
      distinctTokens: distinctBlocks * this.#blockTokens,
    };
  }
}
