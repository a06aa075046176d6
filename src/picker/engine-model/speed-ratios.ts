/** An answer's error is much like the last one's: so many count as one independent observation. */
const ANSWERS_PER_OBSERVATION = 5;
/** Remembers about so many answers of an endpoint. */
const MEMORY_ANSWERS = 200;
/** An answer four times as slow as predicted says no more than that. */
const LOG_RATIO_MAX = Math.log(4);

interface SlotRecord {
  answers: number;
  mean: number;
  square: number;
}

/**
 * How much slower or faster than the pool's model each endpoint is. Whether a difference is real is judged from the
 * pool itself (empirical Bayes, after James and Stein): where endpoints differ no more than chance makes them, all are
 * taken to be alike, and where the spread between them is plain, each is taken at its word.
 */
export class SpeedRatios {
  readonly #records = new Map<number, SlotRecord>();
  #grandMean = 0;
  /** Variance between endpoints beyond what chance explains. */
  #between = 0;
  #within = 0;

  /** Those that have answered. */
  slots(): Iterable<number> {
    return this.#records.keys();
  }

  /** Of an endpoint that has not. */
  commonRatio(): number {
    return Math.exp(this.#grandMean);
  }

  /** Observed over predicted, above 1 for a slow endpoint; 1 until it is known to differ. */
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

  /** Splits the spread of the means into chance and difference. */
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

  /** How far chance alone would put a mean of so many answers from the truth, squared. */
  #chanceOf({ answers }: SlotRecord): number {
    return (this.#within * ANSWERS_PER_OBSERVATION) / answers;
  }
}
