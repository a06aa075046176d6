import type { Demand } from '../framework/cycle-facts.ts';
import type { Millis } from '../framework/runtime.ts';

/** Near 1 the queue of the formula grows without end, and any request would cost too much. */
const UTILIZATION_MAX = 0.875;

/** Recent traffic is that of about so long: long enough that single prompts change little. */
export const RECENT_MS: Millis = 30_000;

/** The traffic of one queue. */
export interface Traffic {
  readonly requestsPerMs: number;
  /** The share of the server's time that this work takes. */
  readonly utilization: number;
}

/** The traffic of an endpoint from its demand and the engine model's `demandRate`. */
export function trafficOf({ requests, workMs }: Demand, rate: number): Traffic {
  return { requestsPerMs: rate * requests, utilization: rate * workMs };
}

/**
 * The rate at which requests come that each stay for `stayMs`. What came lately says little about
 * it where they stay much longer: of a rate of one request in ten seconds three came in half a
 * minute, or one, or five. Those that are in flight are all that came in their stay (Little's law).
 * From half a minute to a minute the one gives way to the other.
 */
export function rateOfStaying(requestsPerMs: number, inFlight: number, stayMs: Millis): number {
  const recentShare = Math.min(1, Math.max(0, 2 - stayMs / RECENT_MS));
  return recentShare * requestsPerMs + (1 - recentShare) * (inFlight / stayMs);
}

/**
 * By how many milliseconds all later requests together wait longer when `workMs` is added behind
 * `backlogMs`. A request that arrives while the queue is not empty waits for this work, and the
 * queue stays busy the longer, the more work is in it already. With λ requests a millisecond,
 * utilization ρ, work x and backlog u the delay is λ / (1 − ρ) · x (u + x / 2): the difference that
 * one job makes to the relative value of an M/G/1 queue (Hyytiä, Penttinen, Aalto: Size- and
 * state-aware dispatching problem with queue-specific job sizes, 2012).
 */
export function queueingDelayForOthersMs(
  { requestsPerMs, utilization }: Traffic,
  backlogMs: Millis,
  workMs: Millis,
): Millis {
  const idle = 1 - Math.min(utilization, UTILIZATION_MAX);
  return (requestsPerMs / idle) * workMs * (backlogMs + workMs / 2);
}
