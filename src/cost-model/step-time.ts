import type {
  EngineModelView,
  InFlightLoad,
  StepTime,
  StepUnderWay,
} from '../framework/cycle-facts.ts';
import type { Endpoint } from '../framework/endpoint.ts';
import type { Millis } from '../framework/runtime.ts';

/**
 * The step time assumed before anything is learned: that of an 8 B model on one current
 * accelerator. Its 6 ms and 0.04 ms a token are the linear engine of the policy study and lie
 * between the published regressions for H100 (6.5 ms, 0.02 ms) and A100 (16 ms, 0.05 ms); attention
 * within prompts is that of an 8 B model on an H100. Only ratios between endpoints matter to a
 * pick, so a wrong prior distorts trade-offs, but not the order of equal endpoints.
 */
export const PRIOR_STEP_TIME: StepTime = {
  overheadMs: 0,
  baseMs: 6,
  perPrefillTokenMs: 0.04,
  perSquaredTokenMs: 5e-7,
  perSequenceMs: 0.05,
  perContextTokenMs: 0.00002,
  prefillTokensMax: 8192,
};

/** Steps until a first token behind so many prompt tokens to compute, its own included. */
export function prefillSteps(prefillTokens: number, { prefillTokensMax }: StepTime): number {
  return Math.max(1, Math.ceil(prefillTokens / prefillTokensMax));
}

/** A prompt at an endpoint. */
export interface PromptSize {
  readonly promptTokens: number;
  /** How many of `promptTokens` are to be computed there. */
  readonly uncachedTokens: number;
}

/** n² − c² of a prompt with n tokens of which c are cached: what attention within it grows with. */
export function attendedSquares({ promptTokens, uncachedTokens }: PromptSize): number {
  return uncachedTokens * (2 * promptTokens - uncachedTokens);
}

/** Milliseconds of an engine that computing a prompt takes, beside the fixed time of its steps. */
export function promptMs(prompt: PromptSize, engine: StepTime = PRIOR_STEP_TIME): Millis {
  return (
    engine.perPrefillTokenMs * prompt.uncachedTokens +
    engine.perSquaredTokenMs * attendedSquares(prompt)
  );
}

/** Where no step is under way, or nothing is known of it. */
const NO_STEP: Pick<StepUnderWay, 'restMs' | 'tokens'> = { restMs: 0, tokens: 0 };

/**
 * Milliseconds until the first token of a prompt, after the step under way. Prompts that were sent
 * before it count by their tokens alone.
 */
export function predictedTtftMs(
  { requests, pendingPrefillTokens, contextTokens }: InFlightLoad,
  prompt: PromptSize,
  engine: StepTime = PRIOR_STEP_TIME,
  { restMs, tokens }: Pick<StepUnderWay, 'restMs' | 'tokens'> = NO_STEP,
): Millis {
  const nextTokens = Math.max(0, pendingPrefillTokens - tokens);
  return (
    engine.overheadMs +
    restMs +
    engine.perPrefillTokenMs * nextTokens +
    promptMs(prompt, engine) +
    prefillSteps(nextTokens + prompt.uncachedTokens, engine) *
      decodeStepMs(requests, contextTokens, engine)
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

/** The step under way at an endpoint, where the model knows one. */
export function stepUnderWay(
  endpoint: Endpoint,
  load: InFlightLoad,
  model: Pick<EngineModelView, 'readStep'>,
  at: Millis,
): StepUnderWay {
  const step = { restMs: 0, tokens: 0, steps: 0, since: at };
  model.readStep?.(endpoint, load, at, step);
  return step;
}
