/** Buckets for each doubling: a value is within 5 % of the middle of its bucket. */
const PER_DOUBLING = 8;
/** From 1 ms to four minutes; what is beyond counts in the first or last bucket. */
const BUCKETS = 18 * PER_DOUBLING;

/** Histograms of durations, one for each step of time, in one block of memory. */
export class LatencyHistograms {
  readonly #counts: Uint16Array;

  constructor(steps: number) {
    this.#counts = new Uint16Array(steps * BUCKETS);
  }

  add(step: number, ms: number): void {
    const bucket = ms > 1 ? Math.min(BUCKETS - 1, Math.floor(Math.log2(ms) * PER_DOUBLING)) : 0;
    const at = step * BUCKETS + bucket;
    const count = this.#counts[at] as number;
    // A bucket that is full stays full.
    if (count < 0xffff) this.#counts[at] = count + 1;
  }

  clear(step: number): void {
    this.#counts.fill(0, step * BUCKETS, (step + 1) * BUCKETS);
  }

  count(step: number): number {
    let sum = 0;
    for (let at = step * BUCKETS; at < (step + 1) * BUCKETS; at++)
      sum += this.#counts[at] as number;
    return sum;
  }

  /** The duration below which this share of the durations is; undefined where there are none. */
  quantile(step: number, share: number): number | undefined {
    const count = this.count(step);
    if (count === 0) return undefined;
    let left = share * count;
    let bucket = 0;
    for (; bucket < BUCKETS - 1; bucket++) {
      left -= this.#counts[step * BUCKETS + bucket] as number;
      if (left <= 0) break;
    }
    return 2 ** ((bucket + 0.5) / PER_DOUBLING);
  }
}
