import type { SequenceUsage } from '../engine/sequence.ts';
import type { TokenUsage } from './usage.ts';

/** Adds the sequences of a request up and calls back when all have ended, or at the first that failed. */
export class Gathering {
  #left: number;
  readonly #done: (usage: TokenUsage, failed: boolean) => void;
  #usage: TokenUsage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };

  constructor(sequences: number, done: (usage: TokenUsage, failed: boolean) => void) {
    this.#left = sequences;
    this.#done = done;
  }

  /** `counts`: whether its prompt does, too. */
  add(
    usage: SequenceUsage,
    { counts, failed }: { readonly counts: boolean; readonly failed: boolean },
  ): void {
    if (this.#left === 0) return;
    const { promptTokens, completionTokens, cachedTokens } = this.#usage;
    this.#usage = {
      promptTokens: promptTokens + (counts ? usage.promptTokens : 0),
      completionTokens: completionTokens + usage.completionTokens,
      cachedTokens: cachedTokens + (counts ? usage.cachedTokens : 0),
    };
    this.#left = failed ? 0 : this.#left - 1;
    if (this.#left === 0) this.#done(this.#usage, failed);
  }
}
