import { DecayingFit, type FitPrior } from '../../cost-model/decaying-fit.ts';
import { loadPerEngine } from '../../cost-model/engine-load.ts';
import { PRIOR_STEP_TIME } from '../../cost-model/step-time.ts';
import type { StepTime } from '../../framework/cycle-facts.ts';
import { type Routed, tokensToCompute } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import { FADING, noiseMs, withoutOutlier } from './first-token-noise.ts';
import { bounded, predictMs, promptFeatures, stepTimeOf } from './prompt-features.ts';

/** The prior of the pool's model, and the time of prompts that were sent there before. */
const PRIOR: FitPrior = { means: [1, 1, 0, 1, 1], deviations: [2, 2, 20, 2, 2] };

/**
 * Learns how fast prompts are computed where they are decoded: servers that compute prompts for
 * others are compared with that. Pending prompts have a coefficient of their own here, because some
 * are computed in part, and so cost half a prompt in the mean. The pool's model has one coefficient
 * for them and for the prompt itself. That makes the tokens of a prompt seem faster than they are,
 * and attention within it slower, which matters most for long prompts.
 */
export class OwnPrompts {
  readonly #fit = new DecayingFit(PRIOR);
  #coefficients = PRIOR.means;
  #stepTime: StepTime = PRIOR_STEP_TIME;

  /** As of the last `update`, those of `promptFeatures` first. */
  get coefficients(): readonly number[] {
    return this.#coefficients;
  }

  get stepTime(): StepTime {
    return this.#stepTime;
  }

  observe(routed: Routed, ttftMs: Millis): void {
    const { request, endpoint, load } = routed;
    const { promptTokens } = request;
    const prompt = { promptTokens, uncachedTokens: tokensToCompute(routed) };
    const [all = 0, steps = 0, , squares = 0] = promptFeatures({ load, endpoint }, prompt);
    const { pendingPrefillTokens } = loadPerEngine(load, endpoint);
    const pending = PRIOR_STEP_TIME.perPrefillTokenMs * pendingPrefillTokens;
    const features = [all - pending, steps, 1, squares, pending];
    const predictedMs = predictMs(features, this.#coefficients);
    this.#fit.observe(features, {
      value: withoutOutlier(ttftMs, predictedMs),
      deviation: noiseMs(predictedMs),
      fading: FADING,
    });
  }

  update(): void {
    this.#coefficients = bounded(this.#fit.solve());
    this.#stepTime = stepTimeOf(this.#coefficients);
  }
}
