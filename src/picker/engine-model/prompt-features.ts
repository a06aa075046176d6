import { loadPerEngine } from '../../cost-model/engine-load.ts';
import {
  attendedSquares,
  decodeStepMs,
  PRIOR_STEP_TIME,
  type PromptSize,
  prefillSteps,
} from '../../cost-model/step-time.ts';
import type { InFlightLoad, StepTime } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';

const COEFFICIENT_MIN = 0.02;

/** An endpoint, and what was in flight there. */
export interface Place {
  readonly load: InFlightLoad;
  readonly endpoint: Endpoint;
}

/**
 * What the time to so many tokens of an answer depends on: the time to compute the prompt tokens at
 * the prior's speed; the time of the steps at the prior's length; 1, for a fixed overhead in
 * milliseconds; and the time of attention within the prompt at the prior's speed. Coefficients of
 * 1, 1, 0 and 1 are the prior itself.
 */
export function promptFeatures(
  { load, endpoint }: Place,
  prompt: PromptSize,
  outputTokens = 1,
): readonly number[] {
  const { requests, pendingPrefillTokens, contextTokens } = loadPerEngine(load, endpoint);
  const tokens = pendingPrefillTokens + prompt.uncachedTokens;
  const steps = prefillSteps(tokens, PRIOR_STEP_TIME) + outputTokens - 1;
  return [
    PRIOR_STEP_TIME.perPrefillTokenMs * tokens,
    steps * decodeStepMs(requests, contextTokens),
    1,
    PRIOR_STEP_TIME.perSquaredTokenMs * attendedSquares(prompt),
  ];
}

/** The coefficients, none of them below what a step time may have. */
export function bounded(coefficients: readonly number[]): readonly number[] {
  return coefficients.map((value, index) => Math.max(index < 2 ? COEFFICIENT_MIN : 0, value));
}

/**
 * The time that coefficients predict, which must be bounded. Those beyond the features are left
 * out.
 */
export function predictMs(features: readonly number[], coefficients: readonly number[]): Millis {
  let sum = 0;
  for (let index = 0; index < features.length; index++) {
    sum += (features[index] as number) * (coefficients[index] as number);
  }
  return sum;
}

/** The prior with what was learned. */
export function stepTimeOf(coefficients: readonly number[]): StepTime {
  const [prefill, step, overheadMs, square] = coefficients as [number, number, number, number];
  const { perPrefillTokenMs, perSquaredTokenMs } = PRIOR_STEP_TIME;
  return {
    ...scaled(PRIOR_STEP_TIME, step),
    overheadMs,
    perPrefillTokenMs: prefill * perPrefillTokenMs,
    perSquaredTokenMs: square * perSquaredTokenMs,
  };
}

/** A slow engine does not make the network slower: the overhead stays. */
export function scaled(stepTime: StepTime, ratio: number): StepTime {
  return {
    overheadMs: stepTime.overheadMs,
    baseMs: ratio * stepTime.baseMs,
    perPrefillTokenMs: ratio * stepTime.perPrefillTokenMs,
    perSquaredTokenMs: ratio * stepTime.perSquaredTokenMs,
    perSequenceMs: ratio * stepTime.perSequenceMs,
    perContextTokenMs: ratio * stepTime.perContextTokenMs,
    prefillTokensMax: stepTime.prefillTokensMax,
  };
}
