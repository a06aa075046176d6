/**
 * Errors of successive answers are correlated: this many count as one independent observation, and
 * fewer where no other prompt was pending, because they do not wait for the same prompts.
 */
const ANSWERS_PER_OBSERVATION = 5;
const ALONE_PER_OBSERVATION = 2;
/**
 * The variance of answers until some have shown it, and how many answers it counts as: about that
 * of a first token of 100 ms by `noiseMs`.
 */
const WITHIN_PRIOR = 0.12;
const WITHIN_PRIOR_ANSWERS = 5;
/**
 * About this many answers of an endpoint are remembered. One that gets none is forgotten after this
 * many answers of each endpoint.
 */
const MEMORY_ANSWERS = 200;
const OBSERVATIONS_MAX = MEMORY_ANSWERS / ANSWERS_PER_OBSERVATION;
/**
 * The standard deviation of what the pool model takes a wait for other prompts for, as a part of it:
 * of a pending prompt half is left to compute in the mean, and not all.
 */
const WAIT_DEVIATION = 0.5;
/** Larger ratios are cut off, so that single slow answers do not dominate. */
const LOG_RATIO_MAX = Math.log(4);
/** A spread between endpoints is real beyond so many standard deviations of what chance gives. */
const CHANCE_DEVIATIONS = 2;
/** For the last endpoint that is left, nothing fades. */
const WEIGHT_MIN = 1e-6;

/** What the answers of one endpoint say, as sums over them that fade. */
interface SlotRecord {
  /** How many answers there are, after fading. */
  answers: number;
  /** How many independent observations they count as. */
  observations: number;
  /** Means of the observed time, and of each feature, relative to what was predicted then. */
  observed: number;
  readonly features: number[];
  /** The mean of `waitedShare`. */
  waitedShare: number;
  /** The logarithm of observed over predicted time, by the prediction of the last `update`. */
  mean: number;
}

/** An answer and what the pool model predicted for it. */
interface TimedAnswer {
  readonly features: readonly number[];
  readonly observedMs: number;
  readonly predictedMs: number;
  /** Whether no other prompt was pending there when it was sent; false if left out. */
  readonly alone?: boolean;
  /** Which part of the predicted time is for prompts that were pending there; 0 if left out. */
  readonly waitedShare?: number;
}

/**
 * By how much the times of each endpoint differ from those of its pool. Whether a difference
 * is real is judged from the pool itself, as the results of studies are put together (DerSimonian
 * and Laird 1986): where endpoints differ no more than chance may explain, they are taken to be
 * equal, so that none is avoided for what one answer seemed to show; where the spread between them
 * is clear, each keeps its own ratio, the more its answers say. What is mistaken in waits for other
 * prompts is mistaken alike at all endpoints, however many answers there are: it looks like a
 * difference between those that waited for more and for less of their time. An endpoint that gets no answers
 * while others do is forgotten in time, and so is tried again.
 */
export class SpeedRatios {
  readonly #records = new Map<number, SlotRecord>();
  readonly #predict: (features: readonly number[]) => number;
  #grandMean = 0;
  /** The mean of `waitedShare` over all observations. */
  #waitedShare = 0;
  /** Variance between endpoints beyond what chance explains. */
  #between = 0;
  /** Variance of the answers of one endpoint, and how many answers it is from. */
  #within = WITHIN_PRIOR;
  #compared = WITHIN_PRIOR_ANSWERS;
  #answers = 0;
  #answersAtUpdate = 0;

  /** `predict` is the pool model as it is now, and linear in the features. */
  constructor(predict: (features: readonly number[]) => number) {
    this.#predict = predict;
  }

  /** Slots of the endpoints that have answered. */
  slots(): Iterable<number> {
    return this.#records.keys();
  }

  /**
   * How many times as long as at the rest of the pool it takes: above 1 for a slow endpoint, as of
   * the last `update`. The pool model alone says how fast the pool is: were it in the ratios, too,
   * one could grow while the other shrinks.
   */
  ratio(slot: number): number {
    const record = this.#records.get(slot);
    if (record === undefined) return 1;
    const trust = this.#between / (this.#between + this.#chanceOf(record) + Number.EPSILON);
    return Math.exp(trust * (record.mean - this.#grandMean));
  }

  observe(slot: number, answer: TimedAnswer): void {
    const { features, observedMs, predictedMs, alone, waitedShare = 0 } = answer;
    const unit = Math.max(predictedMs, 1e-3);
    const log = Math.log(Math.max(observedMs, 1e-3) / unit);
    const limited = Math.max(-LOG_RATIO_MAX, Math.min(LOG_RATIO_MAX, log));
    const record = this.#records.get(slot) ?? {
      answers: 0,
      observations: 0,
      observed: 0,
      features: features.map(() => 0),
      waitedShare: 0,
      mean: limited,
    };
    this.#records.set(slot, record);
    this.#answers += 1;
    record.answers = Math.min(MEMORY_ANSWERS, record.answers + 1);
    const perObservation = alone === true ? ALONE_PER_OBSERVATION : ANSWERS_PER_OBSERVATION;
    record.observations = Math.min(OBSERVATIONS_MAX, record.observations + 1 / perObservation);
    const weight = 1 / record.answers;
    record.observed += weight * (Math.exp(limited) - record.observed);
    record.waitedShare += weight * (waitedShare - record.waitedShare);
    for (let index = 0; index < features.length; index++) {
      const mean = record.features[index] as number;
      record.features[index] = mean + weight * ((features[index] as number) / unit - mean);
    }
    // The first answer is its own mean, and shows nothing of how far answers lie apart.
    if (record.answers === 1) return;
    const residual = limited - record.mean;
    this.#compared = Math.min(this.#compared + 1, MEMORY_ANSWERS * this.#records.size);
    this.#within += ((1 - weight) * residual * residual - this.#within) / this.#compared;
  }

  forget(slot: number): void {
    this.#records.delete(slot);
    this.update();
  }

  /**
   * Judges all answers again by the present pool model, which may have been very different when the
   * first of them came. Splits the spread of the means into chance and real differences.
   */
  update(): void {
    const endpoints = this.#records.size;
    if (endpoints === 0) return;
    this.#fade();
    let [weights, squares, sum] = [0, 0, 0];
    for (const record of this.#records.values()) {
      record.mean = Math.log(record.observed / Math.max(this.#predict(record.features), 1e-3));
      const weight = 1 / this.#chanceOf(record);
      weights += weight;
      squares += weight * weight;
      sum += weight * record.mean;
    }
    const mean = sum / weights;
    let spread = 0;
    for (const record of this.#records.values()) {
      spread += (record.mean - mean) ** 2 / this.#chanceOf(record);
    }
    const others = endpoints - 1;
    const byChance = others + CHANCE_DEVIATIONS * Math.sqrt(2 * others);
    const precision = weights - squares / weights;
    // Where all but one have faded, nothing can be said about differences.
    this.#between = precision > 0 ? Math.max(0, spread - byChance) / precision : 0;
    this.#grandMean = this.#meanOf();
  }

  /** Answers since the last `update` make earlier ones count less. */
  #fade(): void {
    const since = this.#answers - this.#answersAtUpdate;
    const kept = (1 - 1 / (MEMORY_ANSWERS * this.#records.size)) ** since;
    this.#answersAtUpdate = this.#answers;
    let [observations, waited] = [0, 0];
    for (const record of this.#records.values()) {
      record.answers = Math.max(WEIGHT_MIN, kept * record.answers);
      record.observations = Math.max(WEIGHT_MIN, kept * record.observations);
      observations += record.observations;
      waited += record.observations * record.waitedShare;
    }
    this.#waitedShare = waited / observations;
  }

  /** Each endpoint counts by how well it is known. */
  #meanOf(): number {
    let [weights, sum] = [0, 0];
    for (const record of this.#records.values()) {
      const weight = 1 / (this.#between + this.#chanceOf(record));
      weights += weight;
      sum += weight * record.mean;
    }
    return sum / weights;
  }

  /** The variance that a mean has by chance, and by what waits were taken for. */
  #chanceOf({ observations, waitedShare }: SlotRecord): number {
    const mistaken = WAIT_DEVIATION * (waitedShare - this.#waitedShare);
    return (this.#within + Number.EPSILON) / observations + mistaken * mistaken;
  }
}
