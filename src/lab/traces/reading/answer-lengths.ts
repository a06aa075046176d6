/** What is known of an answer whose tokens nobody counted. */
export interface UncountedAnswer {
  readonly streaming: boolean;
  readonly bytes: number | undefined;
  /** What its client asked for at most. */
  readonly tokensMax: number | undefined;
}

/** Guesses the tokens of answers from those that were counted: streams say it only to clients that ask. */
export class AnswerLengths {
  readonly #counted: number[] = [];
  /** A token takes many more bytes in a stream. */
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

  /** By its bytes, where answers of its kind tell how many a token takes; else the median. NaN where none was counted. */
  guess({ streaming, bytes, tokensMax = Number.POSITIVE_INFINITY }: UncountedAnswer): number {
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
