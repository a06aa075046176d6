import type { Millis, Random } from '../../src/framework/runtime.ts';

/** Speculative decoding: a draft of some tokens for each sequence and step, verified all at once. */
export interface SpeculationOptions {
  /** Drafted for each sequence in each step; at most `SPECULATION_TOKENS_MAX`. */
  readonly tokens: number;
  /** The chance of each, 0 to 1, to be accepted once those before it were; the last one given holds for the rest. */
  readonly acceptance: readonly number[];
  /** To make the drafts of a step. */
  readonly draftMs: Millis;
}

/** Methods in use draft 1 to 7. */
export const SPECULATION_TOKENS_MAX = 8;

/** Draws how many drafted tokens are accepted, and counts as vLLM's metrics do. */
export class Speculation {
  readonly options: SpeculationOptions;
  drafts = 0;
  acceptedTokens = 0;
  /** How often the draft was accepted up to each place. */
  readonly acceptedAt: number[];
  readonly #random: Random;

  constructor(options: SpeculationOptions, random: Random) {
    this.options = options;
    this.#random = random;
    this.acceptedAt = Array.from({ length: options.tokens }, () => 0);
  }

  /** Accepted of one draft, 0 to `options.tokens`. */
  draw(): number {
    const { tokens, acceptance } = this.options;
    let accepted = 0;
    while (accepted < tokens) {
      const chance = acceptance[Math.min(accepted, acceptance.length - 1)] ?? 0;
      if (this.#random.next() >= chance) break;
      accepted += 1;
    }
    return accepted;
  }

  /** A draft was verified, and `accepted` of it kept. */
  count(accepted: number): void {
    this.drafts += 1;
    this.acceptedTokens += accepted;
    for (let place = 0; place < accepted; place++) {
      this.acceptedAt[place] = (this.acceptedAt[place] ?? 0) + 1;
    }
  }
}
