import type { Millis } from '../../framework/runtime.ts';
import type { TraceRequest } from '../traces/trace.ts';

/** What became of one request. Times count from its arrival; in simulations they are virtual. */
export interface RequestResult {
  readonly request: Pick<TraceRequest, 'atMs' | 'promptTokens' | 'outputTokens'>;
  /** Index into the pool's servers: the server that answered, or the last one that was tried. */
  server: number;
  attempts: number;
  /** The time that the client sees; NaN if no token came. */
  ttftMs: Millis;
  e2eMs: Millis;
  /** Prompt tokens that the server did not compute: it had them, or another one sent them. */
  cachedTokens: number;
  completed: boolean;
  /** The other server that computed the prompt, where one did, and what that had of it. */
  prefill?: PrefillResult | undefined;
}

/** What another server did of a prompt. */
export interface PrefillResult {
  /** Index into the pool's servers. */
  readonly server: number;
  readonly cachedTokens: number;
}

/** Prompt tokens that no server computed, because they were in a prefix cache. */
export function foundTokens({
  cachedTokens,
  prefill,
}: Pick<RequestResult, 'cachedTokens' | 'prefill'>): number {
  return Math.min(cachedTokens, prefill?.cachedTokens ?? cachedTokens);
}

/** What became of a request, and all that the trace says of it. */
export interface WholeResult extends RequestResult {
  readonly request: TraceRequest;
}

/** Results in an array, or in a table that makes each when it is asked for. */
export type RequestResults = Pick<
  readonly RequestResult[],
  'length' | 'at' | typeof Symbol.iterator
>;

/** The part of the decisions that a scheduler in place of the profiles made. */
export interface SchedulerShare {
  readonly decided: number;
  /** Left to the profiles, by reason. */
  readonly declined: Readonly<Record<string, number>>;
}

export interface SimulationResult {
  /** In the order of arrival. */
  readonly requests: RequestResults;
  /** Until the last request ended. */
  readonly durationMs: Millis;
  readonly preemptions: number;
  /** Only where there is one. */
  readonly scheduler?: SchedulerShare;
}

/** The result of a simulation that keeps its requests. */
export interface WholeSimulation extends SimulationResult {
  readonly requests: readonly WholeResult[];
}
