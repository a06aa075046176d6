/** Errors of successive answers are correlated: this many count as one independent observation. */
const ANSWERS_PER_OBSERVATION = 5;
/** Remembers about this many answers of an endpoint. */
const MEMORY_ANSWERS = 200;
/** Larger ratios are cut off, so that single slow answers do not dominate. */
const LOG_RATIO_MAX = Math.log(4);

interface SlotRecord {
  answers: number;
  mean: number;
  square: number;
}

/**
 * The ratio of each endpoint's observed times to the pool model's predictions. Whether a difference
 * is real is judged from the pool itself (empirical Bayes, after James and Stein): where endpoints
 * differ no more than chance explains, they are taken to be equal; where the spread between them is
 * clear, each keeps its own ratio.
 */
export class SpeedRatios {
  readonly #records = new Map<number, SlotRecord>();
  #grandMean = 0;
  /** Variance between endpoints beyond what chance explains. */
  #between = 0;
  #within = 0;

  /** Slots of the endpoints that have answered. */
  slots(): Iterable<number> {
    return this.#records.keys();
  }

  /** The ratio of an endpoint that has not answered yet. */
  commonRatio(): number {
    return Math.exp(this.#grandMean);
  }

  /** Observed over predicted time: above 1 for a slow endpoint, 1 until it is known to differ. */
  ratio(slot: number): number {
    const record = this.#records.get(slot);
    if (record === undefined) return this.commonRatio();
    const trust = this.#between / (this.#between + this.#chanceOf(record) + Number.EPSILON);
    return Math.exp(this.#grandMean + trust * (record.mean - this.#grandMean));
  }

  observe(slot: number, observed: number, predicted: number): void {
    const ratio = Math.log(Math.max(observed, 1e-3) / Math.max(predicted, 1e-3));
    const value = Math.max(-LOG_RATIO_MAX, Math.min(LOG_RATIO_MAX, ratio));
    const record = this.#records.get(slot) ?? { answers: 0, mean: 0, square: 0 };
    this.#records.set(slot, record);
    record.answers = Math.min(MEMORY_ANSWERS, record.answers + 1);
    const weight = 1 / record.answers;
    record.mean += weight * (value - record.mean);
    record.square += weight * (value * value - record.square);
    this.#updateSpread();
  }

  forget(slot: number): void {
    this.#records.delete(slot);
    this.#updateSpread();
  }

  /** Splits the spread of the means into chance and real differences. */
  #updateSpread(): void {
    let endpoints = 0;
    let means = 0;
    let within = 0;
    for (const { mean, square } of this.#records.values()) {
      endpoints += 1;
      means += mean;
      within += Math.max(0, square - mean * mean);
    }
    if (endpoints === 0) return;
    this.#grandMean = means / endpoints;
    this.#within = within / endpoints;
    let spread = 0;
    let chance = 0;
    for (const record of this.#records.values()) {
      spread += (record.mean - this.#grandMean) ** 2;
      chance += this.#chanceOf(record);
    }
    this.#between =
      endpoints === 1 ? 0 : Math.max(0, spread / (endpoints - 1) - chance / endpoints);
  }

  /** The variance that chance alone gives a mean of this many answers. */
  #chanceOf({ answers }: SlotRecord): number {
    return (this.#within * ANSWERS_PER_OBSERVATION) / answers;
  }
}
