import { DecayingFit, type FitPrior } from '../../cost-model/decaying-fit.ts';
import { PRIOR_STEP_TIME } from '../../cost-model/step-time.ts';
import type { StepTime } from '../../framework/cycle-facts.ts';
import type { Millis } from '../../framework/runtime.ts';
import { FADING, noiseMs, withoutOutlier } from './first-token-noise.ts';
import { bounded, predictMs, stepTimeOf } from './prompt-features.ts';

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

/** What the time to a first token depends on, and the time. */
export interface TimedFeatures {
  readonly features: readonly number[];
  readonly observedMs: Millis;
}

/** One first token. */
interface FirstTokenTimes {
  readonly sinceStep: TimedFeatures;
  readonly sinceSent: TimedFeatures;
  /** The ratio of the endpoint: divided by it, the times say something about the pool. */
  readonly ratio: number;
  /** Whether no other prompt was pending there when it was sent. */
  readonly alone: boolean;
}

/** What was learned in one way, and how well first tokens were predicted by it. */
class TimedFit {
  readonly #fit = new DecayingFit(PRIOR);
  coefficients = PRIOR.means;
  stepTime: StepTime = PRIOR_STEP_TIME;
  /** The mean of squared errors, in which old ones fade. */
  errors = 0;

  /** Returns by how much the time differs from what was predicted. */
  observe({ features, observedMs }: TimedFeatures, ratio: number): Millis {
    const predictedMs = predictMs(features, this.coefficients);
    const value = withoutOutlier(observedMs / ratio, predictedMs);
    this.#fit.observe(features, { value, deviation: noiseMs(predictedMs), fading: FADING });
    return value - predictedMs;
  }

  judge(errorMs: Millis, deviationMs: Millis): void {
    this.errors += JUDGED * ((errorMs / deviationMs) ** 2 - this.errors);
  }

  update(): void {
    this.coefficients = bounded(this.#fit.solve());
    this.stepTime = stepTimeOf(this.coefficients);
  }
}

/**
 * What first tokens say of the speed of a pool, in two ways: from the time since the step began that
 * a prompt waited for, and from the time since it was sent. The first is right where prompts join
 * the next step. Where a server prepares them for longer than a step takes, they do not, and that
 * time would be learned as a part of the step: the second predicts better. The one that has
 * predicted better lately counts, the second at the start.
 */
export class FirstTokenFits {
  readonly #sinceStep = new TimedFit();
  readonly #sinceSent = new TimedFit();

  /** Whether the times since steps began count. */
  seesSteps = false;

  get coefficients(): readonly number[] {
    return this.#counting.coefficients;
  }

  /** The step time of an endpoint whose ratio is 1, and of one that has not answered yet. */
  get stepTime(): StepTime {
    return this.#counting.stepTime;
  }

  /** By the times since steps began, also where they do not count. */
  get wholeStepTime(): StepTime {
    return this.#sinceStep.stepTime;
  }

  observe({ sinceStep, sinceSent, ratio, alone }: FirstTokenTimes): void {
    const deviationMs = noiseMs(predictMs(sinceSent.features, this.#sinceSent.coefficients));
    const stepErrorMs = this.#sinceStep.observe(sinceStep, ratio);
    const sentErrorMs = this.#sinceSent.observe(sinceSent, ratio);
    // Behind other prompts, as in overload, it waits for more than for a step.
    if (!alone) return;
    this.#sinceStep.judge(stepErrorMs, deviationMs);
    this.#sinceSent.judge(sentErrorMs, deviationMs);
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
