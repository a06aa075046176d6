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
  readonly #counted = new CountedLengths();
  /** Separate, because a token takes many more bytes in a stream. */
  readonly #sums = { stream: { tokens: 0, bytes: 0 }, whole: { tokens: 0, bytes: 0 } };

  learn(tokens: number, { streaming, bytes }: UncountedAnswer): void {
    this.#counted.add(tokens);
    if (bytes === undefined) return;
    const sums = this.#sums[streaming ? 'stream' : 'whole'];
    sums.tokens += tokens;
    sums.bytes += bytes;
  }

  /** Whether a server has counted any answer. */
  get hasCounts(): boolean {
    return this.#counted.count > 0;
  }

  /**
   * By the bytes per token of its kind if known, otherwise the median. Without any count it is as
   * long as its client allows, and NaN where that is not known either.
   */
  estimate({ streaming, bytes, tokensMax = Number.POSITIVE_INFINITY }: UncountedAnswer): number {
    if (!this.hasCounts) return Number.isFinite(tokensMax) ? Math.max(1, tokensMax) : Number.NaN;
    const sums = this.#sums[streaming ? 'stream' : 'whole'];
    const known = bytes !== undefined && sums.bytes > 0;
    const tokens = known ? (bytes * sums.tokens) / sums.bytes : this.#counted.median();
    return Math.min(Math.max(1, Math.round(tokens)), Math.max(1, tokensMax));
  }
}

/** Lengths of answers, of which there are far fewer than answers. */
export class CountedLengths {
  readonly #counts = new Map<number, number>();
  #median: number | undefined;
  #all = 0;

  get count(): number {
    return this.#all;
  }

  add(tokens: number): void {
    this.#counts.set(tokens, (this.#counts.get(tokens) ?? 0) + 1);
    this.#all += 1;
    this.#median = undefined;
  }

  /** NaN without any. */
  median(): number {
    this.#median ??= this.#find();
    return this.#median;
  }

  #find(): number {
    let before = this.#all >> 1;
    for (const [tokens, count] of [...this.#counts].sort(([a], [b]) => a - b)) {
      if (before < count) return tokens;
      before -= count;
    }
    return Number.NaN;
  }
}
