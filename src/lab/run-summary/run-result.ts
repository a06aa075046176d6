import type { Millis } from '../../framework/runtime.ts';
import type { TraceRequest } from '../traces/trace.ts';

/** What became of one request. Times are virtual. */
export interface RequestResult {
  readonly request: TraceRequest;
  /** Index into the pool's servers of the one that answered, or was tried last. */
  server: number;
  attempts: number;
  /** As the client sees it; NaN if none came. */
  ttftMs: Millis;
  e2eMs: Millis;
  cachedTokens: number;
  completed: boolean;
}

export interface SimulationResult {
  readonly requests: readonly RequestResult[];
  /** Until the last request was over. */
  readonly durationMs: Millis;
  readonly preemptions: number;
}
