/** How many seconds are kept: two windows, of which both must rise where demand rises. */
const WINDOW_S = 60;
const KEPT_S = 2 * WINDOW_S;
/** The seconds over which the present rate is a mean. */
export const PRESENT_S = 15;

/** The rate of arrivals, counted each second, and whether it grows. */
export class ArrivalTrend {
  readonly #counts: number[] = [];

  /** Call once a second. */
  add(arrivals: number): void {
    this.#counts.push(arrivals);
    if (this.#counts.length > KEPT_S) this.#counts.shift();
  }

  /** How many seconds it has seen, up to two minutes. */
  get seconds(): number {
    return this.#counts.length;
  }

  /** Per second. */
  get rate(): number {
    const recent = this.#counts.slice(-PRESENT_S);
    return recent.reduce((sum, count) => sum + count, 0) / Math.max(1, recent.length);
  }

  /**
   * By how much the rate grows in a second; 0 where it does not, or where chance could be the
   * reason. After a step only one of the windows rises: that is a higher rate and no trend.
   */
  get slope(): number {
    if (this.#counts.length < KEPT_S) return 0;
    const slopes = [this.#counts.slice(0, WINDOW_S), this.#counts.slice(WINDOW_S)].map(
      certainSlope,
    );
    return Math.max(0, Math.min(...slopes));
  }
}

/** The slope of a straight line through the counts, less one standard error. */
function certainSlope(counts: readonly number[]): number {
  const middle = (counts.length - 1) / 2;
  const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  let [products, squares] = [0, 0];
  counts.forEach((count, second) => {
    products += (second - middle) * (count - mean);
    squares += (second - middle) ** 2;
  });
  return products / squares - Math.sqrt(Math.max(mean, 0) / squares);
}
