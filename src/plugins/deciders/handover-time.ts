import { DecayingFit, type FitPrior } from '../../cost-model/decaying-fit.ts';
import type { Millis } from '../../framework/runtime.ts';

/** Standard deviations of the prior: of what is added, in ms, and of the factor. */
const DEVIATIONS = [30, 0.3];
/** As in the engine model. */
const FADING = 1 / 1000;
const NOISE_MS = 10;
const NOISE_SHARE = 0.25;
const OUTLIER_DEVIATIONS = 2;

/**
 * How long it takes from the pick until the engine that decodes can use a KV cache that was
 * computed elsewhere: a line over the time after which it should arrive, by prompt and link. What
 * else comes to both engines meanwhile, and transfers that share a link, cannot be known at the
 * pick, but are much the same in the mean. Before the first tokens are
 * known, it is that time and the front end of the engine that decodes.
 */
export class HandoverTime {
  readonly #fit = new DecayingFit(priorOf(0));

  /** `overheadMs` is the time that the front end of an engine takes. */
  expected(arrivesAfterMs: Millis, overheadMs = 0): Millis {
    const [added = overheadMs, factor = 1] = this.#fit.solve(priorOf(overheadMs));
    return Math.max(0, added + factor * arrivesAfterMs);
  }

  /** It took `tookMs`. One very late answer changes little. */
  learn(arrivesAfterMs: Millis, tookMs: Millis): void {
    const expected = this.expected(arrivesAfterMs);
    const deviation = NOISE_MS + NOISE_SHARE * expected;
    const limit = OUTLIER_DEVIATIONS * deviation;
    const value = expected + Math.max(-limit, Math.min(limit, tookMs - expected));
    this.#fit.observe([1, arrivesAfterMs], { value, deviation, fading: FADING });
  }
}

function priorOf(overheadMs: Millis): FitPrior {
  return { means: [overheadMs, 1], deviations: DEVIATIONS };
}
