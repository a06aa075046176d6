import type { Millis } from '../../framework/runtime.ts';

/** Neighbouring bounds differ by 2 %: so far off at most is what is read from it. */
const GROWTH = 1.02;
const LEAST_MS = 0.01;
/** Up to three hours. */
const BUCKETS = Math.ceil(Math.log(1e7 / LEAST_MS) / Math.log(GROWTH));

/** How times are spread, in memory that does not grow with their number. */
export class TimeHistogram {
  readonly #counts = new Float64Array(BUCKETS + 1);
  #count = 0;

  add(time: Millis): void {
    const bucket = Math.ceil(Math.log(Math.max(LEAST_MS, time) / LEAST_MS) / Math.log(GROWTH));
    const at = Math.min(BUCKETS, bucket);
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#count += 1;
  }

  /** The time that this share of all does not exceed, within 2 %; NaN of none. */
  quantile(share: number): Millis {
    if (this.#count === 0) return Number.NaN;
    let left = share * this.#count;
    const at = this.#counts.findIndex((count) => {
      left -= count;
      return left <= 0 && count > 0;
    });
    return LEAST_MS * GROWTH ** (at < 0 ? BUCKETS : at);
  }
}
