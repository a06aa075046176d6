import type { Millis } from '../../framework/runtime.ts';

/** Remembers about a thousand answers: it follows a drifting engine in minutes. */
export const FADING: number = 1 / 1000;
/** Least standard deviation of a first token from its prediction: half a step, and the network. */
const NOISE_MS = 10;
/** Plus this share of the prediction, because chunks share steps with later requests. */
const NOISE_SHARE = 0.25;
/** Residuals beyond this many deviations count as if they were at this distance (Huber). */
const OUTLIER_DEVIATIONS = 2;

/** The standard deviation of a first token from its prediction. */
export function noiseMs(predictedMs: Millis): Millis {
  return NOISE_MS + NOISE_SHARE * predictedMs;
}

/** What a fit takes for the observed time: one that is far off counts as less far. */
export function withoutOutlier(observedMs: Millis, predictedMs: Millis): Millis {
  const limit = OUTLIER_DEVIATIONS * noiseMs(predictedMs);
  return predictedMs + Math.max(-limit, Math.min(limit, observedMs - predictedMs));
}
