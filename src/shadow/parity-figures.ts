import type { Parity } from './parity.ts';

/** Shares of 1 and times in milliseconds; undefined where nothing was counted. */
export interface ParityFigures {
  readonly agreement: number | undefined;
  /** The share in which no endpoint scores more with the shadow than the chosen one. */
  readonly topOne: number | undefined;
  /** The share in which the chosen endpoint is among the shadow's best three. */
  readonly topThree: number | undefined;
  /** How much later (below 0: sooner) the shadow's picks would have answered, on average. */
  readonly ttftDifferenceMs: number | undefined;
  /** Mean delay against the best endpoint: of real picks, and of the shadow's picks. */
  readonly primaryRegretMs: number | undefined;
  readonly shadowRegretMs: number | undefined;
  /** Observed over predicted time to a first token: above 1 tokens come later than predicted. */
  readonly observedOverPredicted: number | undefined;
  /** Mean absolute error of the predictions. */
  readonly predictionErrorMs: number | undefined;
}

/** Shares and means of the counts; undefined where nothing was counted. */
export function parityFigures(parity: Parity): ParityFigures {
  const { decisions, agreed, placed, predicted, calibration } = parity;
  const { primaryTtftMs, shadowTtftMs, bestTtftMs } = parity;
  const { firstTokens, predictedMs, observedMs, absoluteErrorMs } = calibration;
  const inThree = placed.slice(0, 3).reduce((sum, each) => sum + each, 0);
  const ranked = placed.some((each) => each > 0);
  return {
    agreement: over(agreed, decisions),
    topOne: ranked ? over(placed[0] ?? 0, decisions) : undefined,
    topThree: ranked ? over(inThree, decisions) : undefined,
    ttftDifferenceMs: over(shadowTtftMs - primaryTtftMs, predicted),
    primaryRegretMs: over(primaryTtftMs - bestTtftMs, predicted),
    shadowRegretMs: over(shadowTtftMs - bestTtftMs, predicted),
    observedOverPredicted: over(observedMs, predictedMs),
    predictionErrorMs: over(absoluteErrorMs, firstTokens),
  };
}

function over(sum: number, count: number): number | undefined {
  return count === 0 ? undefined : sum / count;
}
