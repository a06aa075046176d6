import { DecayingFit, type FitPrior } from '../../cost-model/decaying-fit.ts';
import { PRIOR_STEP_TIME } from '../../cost-model/step-time.ts';
import type { StepTime } from '../../framework/cycle-facts.ts';
import type { Millis } from '../../framework/runtime.ts';
import { FADING, noiseMs, withoutOutlier } from './first-token-noise.ts';
import { bounded, predictMs, scaled, stepTimeOf } from './prompt-features.ts';
import { SpeedRatios } from './speed-ratios.ts';

/**
 * The coefficients of `promptFeatures`. A large model on an old accelerator is ten times slower, so
 * the prior is weak.
 */
const PRIOR: FitPrior = { means: [1, 1, 0, 1], deviations: [2, 2, 20, 2] };

/** It counts how well about this many of the last answers were predicted that waited for nobody. */
const JUDGED_ANSWERS = 200;
const JUDGED = 1 / JUDGED_ANSWERS;

/** Which fit counts changes only where the other has less than this part of its errors. */
const CLEARLY = 0.95;

/** What a time depends on, and the time. */
export interface TimedFeatures {
  readonly features: readonly number[];
  readonly observedMs: Millis;
}

/** A whole answer, or the part of it up to its first token. */
interface Answered {
  readonly slot: number;
  /** The part of the first feature that is of other prompts, which were pending when it was sent. */
  readonly pendingMs: Millis;
}

/** One first token. */
interface FirstTokenTimes extends Answered {
  readonly sinceStep: TimedFeatures;
  readonly sinceSent: TimedFeatures;
}

/**
 * What was learned in one way: the speed of the pool, how each endpoint differs from it, and how
 * well first tokens were predicted by both.
 */
class TimedFit {
  readonly #fit = new DecayingFit(PRIOR);
  coefficients = PRIOR.means;
  readonly ratios = new SpeedRatios((features) => predictMs(features, this.coefficients));
  stepTime: StepTime = PRIOR_STEP_TIME;
  /** The mean of squared errors, in which old ones fade. */
  errors = 0;
  /** Answers whose first token was not seen, and how many times as long they take as predicted. */
  #unseen = 0;
  #unseenLog = 0;

  /** Returns by how much the time differs from what was predicted. */
  observe(answered: Answered, { features, observedMs }: TimedFeatures): Millis {
    const predictedMs = predictMs(features, this.coefficients);
    const ratio = this.ratios.ratio(answered.slot);
    // Divided by it, the time says something of the pool.
    const value = withoutOutlier(observedMs / ratio, predictedMs);
    this.#fit.observe(features, { value, deviation: noiseMs(predictedMs), fading: FADING });
    // Behind other prompts it would share what is mistaken in their times.
    const alone = answered.pendingMs === 0;
    const waitedShare = this.#waitedShare(answered, predictedMs);
    const times = { features, observedMs, predictedMs, alone, waitedShare };
    this.ratios.observe(answered.slot, times);
    return value - predictedMs;
  }

  observeUnseen(answered: Answered, { features, observedMs }: TimedFeatures): void {
    const predictedMs = predictMs(features, this.coefficients);
    const { slot } = answered;
    const log = Math.log(observedMs / (this.ratios.ratio(slot) * predictedMs));
    this.#unseen = Math.min(this.#unseen + 1, 1 / FADING);
    this.#unseenLog += (log - this.#unseenLog) / this.#unseen;
    const usualMs = observedMs / Math.exp(this.#unseenLog);
    const waitedShare = this.#waitedShare(answered, predictedMs);
    this.ratios.observe(slot, { features, observedMs: usualMs, predictedMs, waitedShare });
  }

  judge(errorMs: Millis, deviationMs: Millis): void {
    this.errors += JUDGED * ((errorMs / deviationMs) ** 2 - this.errors);
  }

  update(): void {
    this.coefficients = bounded(this.#fit.solve());
    this.stepTime = stepTimeOf(this.coefficients);
    this.ratios.update();
  }

  #waitedShare({ pendingMs }: Answered, predictedMs: Millis): number {
    return ((this.coefficients[0] as number) * pendingMs) / predictedMs;
  }
}

/**
 * What first tokens say of the speed of a pool and of each endpoint, in two ways: from the time
 * since the step began that a prompt waited for, and from the time since it was sent. The first is
 * right where prompts join the next step. Where a server prepares them for longer than a step takes,
 * they do not, and that time would be learned as a part of the step: the second predicts better. The
 * one that has predicted better lately counts, the second at the start. Each way has ratios of its
 * own: by what the other predicts of the same prompts, equal endpoints would differ.
 */
export class FirstTokenFits {
  readonly #sinceStep = new TimedFit();
  readonly #sinceSent = new TimedFit();

  /** Whether the times since steps began count. */
  seesSteps = false;

  /** The step time of an endpoint whose ratio is 1, and of one that has not answered yet. */
  get stepTime(): StepTime {
    return this.#counting.stepTime;
  }

  /** Slots of the endpoints that have answered. */
  slots(): Iterable<number> {
    return this.#counting.ratios.slots();
  }

  /** How many times as long as at the rest of the pool it takes at an endpoint. */
  ratio(slot: number): number {
    return this.#counting.ratios.ratio(slot);
  }

  /** The step time of an endpoint by the times since steps began, also where these do not count. */
  wholeStepTime(slot: number): StepTime {
    return scaled(this.#sinceStep.stepTime, this.#sinceStep.ratios.ratio(slot));
  }

  observe({ sinceStep, sinceSent, ...answered }: FirstTokenTimes): void {
    const deviationMs = noiseMs(predictMs(sinceSent.features, this.#sinceSent.coefficients));
    const stepErrorMs = this.#sinceStep.observe(answered, sinceStep);
    const sentErrorMs = this.#sinceSent.observe(answered, sinceSent);
    // Behind other prompts, as in overload, it waits for more than for a step.
    if (answered.pendingMs > 0) return;
    this.#sinceStep.judge(stepErrorMs, deviationMs);
    this.#sinceSent.judge(sentErrorMs, deviationMs);
  }

  /**
   * An answer whose first token was not seen, as all that are not streamed. Its whole time depends
   * on what comes meanwhile, and says nothing about prompts and steps of the pool: so only how it
   * compares with other such answers counts, which shows how fast its endpoint is beside others.
   */
  observeUnseen({ features, observedMs, ...answered }: Answered & TimedFeatures): void {
    const whole = { features, observedMs };
    this.#sinceStep.observeUnseen(answered, whole);
    this.#sinceSent.observeUnseen(answered, whole);
  }

  forget(slot: number): void {
    this.#sinceStep.ratios.forget(slot);
    this.#sinceSent.ratios.forget(slot);
  }

  update(): void {
    this.#sinceStep.update();
    this.#sinceSent.update();
    const { errors } = this.#counting;
    const others = this.seesSteps ? this.#sinceSent.errors : this.#sinceStep.errors;
    if (others < CLEARLY * errors) this.seesSteps = !this.seesSteps;
  }

  get #counting(): TimedFit {
    return this.seesSteps ? this.#sinceStep : this.#sinceSent;
  }
}
