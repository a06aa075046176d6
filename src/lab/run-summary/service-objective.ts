import type { Millis } from '../../framework/runtime.ts';
import type { RequestResult } from './run-result.ts';

/** When an answer is good, and what share of the answers must be. */
export interface ServiceObjective {
  /** The first token comes sooner than this. */
  readonly ttftMs: Millis;
  /** Each further token takes less than this, on average over the answer. */
  readonly tpotMs: Millis;
  /** The share of all requests, failed ones included, that must be good; above 0, at most 1. */
  readonly share: number;
}

/** The bounds of the policy study. */
export const STUDY_OBJECTIVE: ServiceObjective = { ttftMs: 2000, tpotMs: 100, share: 0.95 };

/** Milliseconds per token after the first; 0 for an answer of one token. */
export function tpotOf({ ttftMs, e2eMs, request }: RequestResult): Millis {
  return request.outputTokens > 1 ? (e2eMs - ttftMs) / (request.outputTokens - 1) : 0;
}

/** Whether the request was completed within both objectives. */
export function isGood(result: RequestResult, { ttftMs, tpotMs }: ServiceObjective): boolean {
  return result.completed && result.ttftMs < ttftMs && tpotOf(result) < tpotMs;
}
