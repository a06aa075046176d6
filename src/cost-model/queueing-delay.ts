import type { Demand } from '../framework/keys.ts';
import type { Millis } from '../framework/runtime.ts';

/** Beyond it a queue would seem never to empty, and everything sent to it without price. */
const UTILIZATION_MAX = 0.875;

/** What comes to one queue. */
export interface Traffic {
  readonly requestsPerMs: number;
  /** Share of its time that the work sent to it takes. */
  readonly utilization: number;
}

/** `rate` is what makes a demand one of a millisecond, as the engine model gives them. */
export function trafficOf({ requests, workMs }: Demand, rate: number): Traffic {
  return { requestsPerMs: rate * requests, utilization: rate * workMs };
}

/**
 * Milliseconds by which all who come later wait longer, taken together, when `workMs` more is put behind `backlogMs`: those
 * who come while the queue is not empty wait for it, and the more there is already, the longer that is. With λ requests a
 * millisecond and utilization ρ that is λ / (1 − ρ) · x (u + x / 2), the difference that one job makes to the relative value
 * of an M/G/1 queue (Hyytiä, Penttinen, Aalto: Size- and state-aware dispatching problem with queue-specific job sizes, 2012).
 */
export function queueingDelayForOthersMs(
  { requestsPerMs, utilization }: Traffic,
  backlogMs: Millis,
  workMs: Millis,
): Millis {
  const idle = 1 - Math.min(utilization, UTILIZATION_MAX);
  return (requestsPerMs / idle) * workMs * (backlogMs + workMs / 2);
}
