import { DecayingFit, type FitPrior } from '../../cost-model/decaying-fit.ts';
import { loadPerEngine } from '../../cost-model/engine-load.ts';
import { PRIOR_STEP_TIME } from '../../cost-model/step-time.ts';
import { type Routed, tokensToCompute } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import { FADING, noiseMs, withoutOutlier } from './first-token-noise.ts';
import { type Place, predictMs, promptFeatures } from './prompt-features.ts';
import { SpeedRatios } from './speed-ratios.ts';

/** Transfer of a token's keys and values: 128 KiB over 200 Gb RoCE. */
const TRANSFER_PER_TOKEN_MS = 0.0066;
/**
 * The features are: the time of the prompt itself as the pool's model predicts it; that of the
 * prompts which were sent there before; 1, for what is always added, in milliseconds; and the
 * transfer. An accelerator for prompts may be twice or half as fast as one that decodes, and links
 * differ more.
 */
const PRIOR: FitPrior = { means: [1, 1, 0, 1], deviations: [1, 1, 20, 5] };
/** The place of the time of a front end among the coefficients of the pool's model. */
const OVERHEAD = 2;
const SPEED_MIN = 0.05;

/**
 * Learns how fast the servers are that compute prompts for others, compared with those that compute
 * their own. What they show is the first token that the other server gives: it comes after the
 * prompt, the transfer, and the front end and a step of the other server. The last two are known
 * from prompts that are computed where they are decoded. Prompts that were sent there before have a
 * coefficient of their own: each counts until its own first token, so that some are computed already.
 */
export class PrefillSpeeds {
  readonly #fit = new DecayingFit(PRIOR);
  readonly #ratios = new SpeedRatios((features) => predictMs(features, this.#coefficients));
  #coefficients = PRIOR.means;

  /** Slots of the servers that have computed prompts for others. */
  slots(): Iterable<number> {
    return this.#ratios.slots();
  }

  /** How many times as long as in the pool's model it takes, as of the last `update`. */
  ratio(slot: number): number {
    return (this.#coefficients[0] as number) * this.#ratios.ratio(slot);
  }

  /**
   * A first token whose prompt `prefill` has computed. `pool` has the coefficients of the pool's
   * model.
   */
  onFirstToken(routed: Routed, at: Millis, pool: readonly number[]): void {
    const { prefill, prefillLoad, request, cachedTokens, expectedTpotMs = 0 } = routed;
    if (prefill === undefined || prefillLoad === undefined) return;
    // It may have waited for other prompts at the other server, and not for its own.
    if (routed.load.pendingPrefillTokens > 0) return;
    const prompt = promptTimes(routed, { load: prefillLoad, endpoint: prefill }, pool);
    const sentMs = TRANSFER_PER_TOKEN_MS * Math.max(0, request.promptTokens - cachedTokens);
    const [, , addedMs = 0, times = 0] = this.#coefficients;
    const wayMs = addedMs + times * sentMs;
    const frontEndsMs = 2 * (pool[OVERHEAD] as number);
    const tookMs = Math.max(0, at - routed.at - expectedTpotMs - frontEndsMs);
    const observedMs = Math.max(0, tookMs - wayMs);
    const predictedMs = predictMs(prompt, this.#coefficients);
    const value = wayMs + observedMs / this.#ratios.ratio(prefill.slot);
    this.#ratios.observe(prefill.slot, { features: prompt, observedMs, predictedMs });
    this.#fit.observe([...prompt, 1, sentMs], {
      value: withoutOutlier(value, predictedMs + wayMs),
      deviation: noiseMs(predictedMs + wayMs),
      fading: FADING,
    });
  }

  update(): void {
    const [own = 1, before = 1, addedMs = 0, times = 1] = this.#fit.solve();
    this.#coefficients = [
      Math.max(SPEED_MIN, own),
      Math.max(0, before),
      Math.max(0, addedMs),
      Math.max(0, times),
    ];
    this.#ratios.update();
  }

  forget(slot: number): void {
    this.#ratios.forget(slot);
  }
}

/** The times of the prompt itself and of those before it, by the pool's model. */
function promptTimes(routed: Routed, place: Place, pool: readonly number[]): readonly number[] {
  const { promptTokens } = routed.request;
  const prompt = { promptTokens, uncachedTokens: tokensToCompute(routed) };
  const ofAll = predictMs(promptFeatures(place, prompt), pool);
  const { pendingPrefillTokens } = loadPerEngine(place.load, place.endpoint);
  const before = PRIOR_STEP_TIME.perPrefillTokenMs * pendingPrefillTokens * (pool[0] as number);
  return [ofAll - before - (pool[OVERHEAD] as number), before];
}
