/** Batches that are missing and may still come: a link that reorders does so within a few. */
const MISSING_MAX = 64;

/** Counts since the first message of the peer. */
export interface BatchCounts {
  batches: number;
  duplicates: number;
  /** Batches that have not come. */
  missed: number;
}

/** Which batches of a peer have come, and which are missing before the last one. */
export class BatchOrder {
  readonly #counts: BatchCounts;
  readonly #missing = new Set<number>();
  #sequence: number | undefined;

  constructor(counts: BatchCounts) {
    this.#counts = counts;
  }

  /** Whether the batch is new. Counts what is missing before it. */
  takes(sequence: number): boolean {
    const last = this.#sequence ?? sequence - 1;
    this.#counts.batches += 1;
    if (sequence <= last) {
      if (this.#missing.delete(sequence)) {
        this.#counts.missed -= 1;
        return true;
      }
      this.#counts.duplicates += 1;
      return false;
    }
    this.#counts.missed += sequence - last - 1;
    for (let each = Math.max(last + 1, sequence - MISSING_MAX); each < sequence; each++)
      this.#miss(each);
    this.#sequence = sequence;
    return true;
  }

  /** Gives up the oldest where more are missing than may still come. */
  #miss(number: number): void {
    this.#missing.add(number);
    if (this.#missing.size <= MISSING_MAX) return;
    const [oldest] = this.#missing;
    if (oldest !== undefined) this.#missing.delete(oldest);
  }
}
