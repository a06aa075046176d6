/** Batches that are missing and may still come: a link that reorders does so within a few. */
const MISSING_MAX = 64;

/** Counts since the first message of the peer. */
export interface BatchCounts {
  batches: number;
  duplicates: number;
  /** Batches that have not come. */
  missed: number;
}

/**
 * What a batch is to those before it: the next one, one after some that have not come, one of those
 * that had not come, or one that has come before.
 */
export type BatchPlace = 'next' | 'after-gap' | 'late' | 'old';

/** Which batches of a peer have come, and which are missing before the last one. */
export class BatchOrder {
  readonly #counts: BatchCounts;
  readonly #missing = new Set<number>();
  #sequence: number | undefined;

  constructor(counts: BatchCounts) {
    this.#counts = counts;
  }

  /** Counts the batch, and what is missing before it. An `old` one must not be applied again. */
  place(sequence: number): BatchPlace {
    const last = this.#sequence ?? sequence - 1;
    this.#counts.batches += 1;
    if (sequence <= last) {
      if (this.#missing.delete(sequence)) {
        this.#counts.missed -= 1;
        return 'late';
      }
      this.#counts.duplicates += 1;
      return 'old';
    }
    const missing = sequence - last - 1;
    this.#counts.missed += missing;
    for (let each = Math.max(last + 1, sequence - MISSING_MAX); each < sequence; each++)
      this.#miss(each);
    this.#sequence = sequence;
    return missing > 0 ? 'after-gap' : 'next';
  }

  /** Gives up the oldest where more are missing than may still come. */
  #miss(number: number): void {
    this.#missing.add(number);
    if (this.#missing.size <= MISSING_MAX) return;
    const [oldest] = this.#missing;
    if (oldest !== undefined) this.#missing.delete(oldest);
  }
}
