/** How much sooner the second of two schedulers answers, for the same requests. */
export interface GainReport {
  /** Decisions with a prediction for both. */
  readonly decisions: number;
  /**
   * The gain in percent of the first one's mean predicted time to a first token, above 0 where the
   * second is better; with its 95 % interval.
   */
  readonly percent: number;
  /** The gain in milliseconds of the mean predicted time; NaN before the first decision. */
  readonly meanMs: number;
  /** NaN until there are enough decisions. */
  readonly lowPercent: number;
  readonly highPercent: number;
}

/**
 * Successive decisions are correlated, because each finds the queues that the previous ones left;
 * so their variance understates the uncertainty of the mean. Means of this many successive
 * decisions are nearly independent (method of batch means).
 */
const BATCH = 250;
/** With fewer batches there is no interval. */
const BATCHES_MIN = 20;
/** Student's t at 97.5 % for 19 degrees of freedom: the fewest batches, so never too small. */
const STUDENT = 2.093;

/** Adds up pairs in constant memory. */
export class PairedGain {
  #decisions = 0;
  #primaryMs = 0;
  #gainMs = 0;
  #batchMs = 0;
  #batches = 0;
  #batchMean = 0;
  #batchSquares = 0;

  add(primaryMs: number, shadowMs: number): void {
    this.#decisions += 1;
    this.#primaryMs += primaryMs;
    this.#gainMs += primaryMs - shadowMs;
    this.#batchMs += primaryMs - shadowMs;
    if (this.#decisions % BATCH === 0) this.#endBatch();
  }

  report(): GainReport {
    const decisions = this.#decisions;
    const perMs = 100 / (this.#primaryMs / decisions);
    const meanMs = this.#gainMs / decisions;
    const percent = meanMs * perMs;
    if (this.#batches < BATCHES_MIN) {
      return { decisions, percent, meanMs, lowPercent: Number.NaN, highPercent: Number.NaN };
    }
    const variance = this.#batchSquares / (this.#batches - 1);
    const plusMinus = STUDENT * Math.sqrt(variance / this.#batches) * perMs;
    return {
      decisions,
      percent,
      meanMs,
      lowPercent: percent - plusMinus,
      // No time is below 0: under overload the interval alone would say more.
      highPercent: Math.min(percent + plusMinus, 100),
    };
  }

  /** Welford's update of mean and sum of squares. */
  #endBatch(): void {
    const mean = this.#batchMs / BATCH;
    this.#batchMs = 0;
    this.#batches += 1;
    const delta = mean - this.#batchMean;
    this.#batchMean += delta / this.#batches;
    this.#batchSquares += delta * (mean - this.#batchMean);
  }
}
