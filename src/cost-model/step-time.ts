import type { InFlightLoad, StepTime } from '../framework/keys.ts';
import type { Millis } from '../framework/runtime.ts';

/**
 * A prior for an 8 B model on one current accelerator: the linear engine of the policy study, whose 6 ms and
 * 0.04 ms/token lie between the published H100 (6.5 ms, 0.02 ms) and A100 (16 ms, 0.05 ms) regressions.
 * Only ratios between endpoints matter to a pick, so a wrong prior misjudges the trade-offs, not the order of equals.
 */
export const PRIOR_STEP_TIME: StepTime = {
  overheadMs: 0,
  baseMs: 6,
  perPrefillTokenMs: 0.04,
  perSequenceMs: 0.05,
  perContextTokenMs: 0.00002,
  prefillTokensMax: 8192,
};

/** The steps to a first token: chunks of the prompt tokens ahead of it and its own, and what each costs besides. */
export function prefillSteps(prefillTokens: number, { prefillTokensMax }: StepTime): number {
  return Math.max(1, Math.ceil(prefillTokens / prefillTokensMax));
}

/** Milliseconds to the first token of a prompt with `uncachedTokens` to compute, behind what is there already. */
export function predictedTtftMs(
  { requests, pendingPrefillTokens, contextTokens }: InFlightLoad,
  uncachedTokens: number,
  engine: StepTime = PRIOR_STEP_TIME,
): Millis {
  const prefillTokens = pendingPrefillTokens + uncachedTokens;
  return (
    engine.overheadMs +
    engine.perPrefillTokenMs * prefillTokens +
    prefillSteps(prefillTokens, engine) * decodeStepMs(requests, contextTokens, engine)
  );
}

/** Milliseconds between two tokens of every sequence when `requests` decode together. */
export function decodeStepMs(
  requests: number,
  contextTokens: number,
  engine: StepTime = PRIOR_STEP_TIME,
): Millis {
  return engine.baseMs + engine.perSequenceMs * requests + engine.perContextTokenMs * contextTokens;
}
