/** What is known of an answer besides its tokens. */
export interface UncountedAnswer {
  readonly streaming: boolean;
  readonly bytes: number | undefined;
  /** The limit that its client asked for. */
  readonly tokensMax: number | undefined;
}

/**
 * Estimates the tokens of answers that were not counted from those that were. Servers count the
 * tokens of a stream only for clients that ask for it.
 */
export class AnswerLengths {
  readonly #counted: number[] = [];
  /** Separate, because a token takes many more bytes in a stream. */
  readonly #sums = {
    stream: { tokens: 0, bytes: 0 },
    whole: { tokens: 0, bytes: 0 },
  };
  #sorted = false;

  learn(tokens: number, { streaming, bytes }: UncountedAnswer): void {
    this.#counted.push(tokens);
    this.#sorted = false;
    if (bytes === undefined) return;
    const sums = this.#sums[streaming ? 'stream' : 'whole'];
    sums.tokens += tokens;
    sums.bytes += bytes;
  }

  /**
   * Estimates by the bytes of the answer if the bytes per token are known for its kind, otherwise
   * takes the median. NaN if no answer was counted.
   */
  estimate({ streaming, bytes, tokensMax = Number.POSITIVE_INFINITY }: UncountedAnswer): number {
    const sums = this.#sums[streaming ? 'stream' : 'whole'];
    const known = bytes !== undefined && sums.bytes > 0;
    const tokens = known ? (bytes * sums.tokens) / sums.bytes : this.#median();
    return Math.min(Math.max(1, Math.round(tokens)), Math.max(1, tokensMax));
  }

  #median(): number {
    if (!this.#sorted) this.#counted.sort((a, b) => a - b);
    this.#sorted = true;
    return this.#counted[this.#counted.length >> 1] ?? Number.NaN;
  }
}
