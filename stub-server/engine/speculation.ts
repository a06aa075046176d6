import type { Millis, Random } from '../../src/framework/runtime.ts';

/** Speculative decoding: each step drafts tokens for each sequence and verifies them at once. */
export interface SpeculationOptions {
  /** Tokens drafted per sequence and step; at most `SPECULATION_TOKENS_MAX`. */
  readonly tokens: number;
  /** Probability of each token, 0 to 1, to be accepted after those before. The last is repeated. */
  readonly acceptance: readonly number[];
  readonly draftMs: Millis;
}

/** Known methods draft 1 to 7 tokens. */
export const SPECULATION_TOKENS_MAX = 8;

/** Draws how many drafted tokens are accepted, and counts them as vLLM's metrics do. */
export class Speculation {
  readonly options: SpeculationOptions;
  drafts = 0;
  acceptedTokens = 0;
  /** By position in the draft: how many drafts were accepted up to it. */
  readonly acceptedAt: number[];
  readonly #random: Random;

  constructor(options: SpeculationOptions, random: Random) {
    this.options = options;
    this.#random = random;
    this.acceptedAt = Array.from({ length: options.tokens }, () => 0);
  }

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

  count(accepted: number): void {
    this.drafts += 1;
    this.acceptedTokens += accepted;
    for (let position = 0; position < accepted; position++) {
      this.acceptedAt[position] = (this.acceptedAt[position] ?? 0) + 1;
    }
  }
}
