import type { Millis } from '../../framework/runtime.ts';

/** Neighbouring bounds differ by 2 %, so a quantile is at most 2 % off. */
const GROWTH = 1.02;
const LEAST_MS = 0.01;
/** Enough for times of up to three hours. */
const BUCKETS = Math.ceil(Math.log(1e7 / LEAST_MS) / Math.log(GROWTH));

/** A histogram of times whose memory does not grow with their number. */
export class TimeHistogram {
  readonly #counts = new Float64Array(BUCKETS + 1);
  #count = 0;

  add(time: Millis): void {
    const bucket = Math.ceil(Math.log(Math.max(LEAST_MS, time) / LEAST_MS) / Math.log(GROWTH));
    const at = Math.min(BUCKETS, bucket);
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#count += 1;
  }

  /**
   * The time that this share (0 to 1) of all does not exceed, within 2 %. NaN if there are none.
   */
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
