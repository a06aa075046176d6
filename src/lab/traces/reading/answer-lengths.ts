/** What is known of an answer besides its tokens. */
export interface UncountedAnswer {
  readonly streaming: boolean;
  readonly bytes: number | undefined;
  /** The limit that its client asked for. */
  readonly tokensMax: number | undefined;
}

/**
 * Estimates tokens of uncounted answers from counted ones. Servers count streams on request only.
 */
export class AnswerLengths {
  readonly #counted: number[] = [];
  /** Separate, because a token takes many more bytes in a stream. */
  readonly #sums = { stream: { tokens: 0, bytes: 0 }, whole: { tokens: 0, bytes: 0 } };
  #sorted = false;

  learn(tokens: number, { streaming, bytes }: UncountedAnswer): void {
    this.#counted.push(tokens);
    this.#sorted = false;
    if (bytes === undefined) return;
    const sums = this.#sums[streaming ? 'stream' : 'whole'];
    sums.tokens += tokens;
    sums.bytes += bytes;
  }

  /** By the bytes per token of its kind if known, otherwise the median. NaN without any count. */
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
