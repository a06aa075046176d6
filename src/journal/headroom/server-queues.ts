import type { InFlightView } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';

/** What runs and what waits at some servers, of all pickers, by their last samples. */
export interface ServerQueues {
  readonly running: number;
  readonly queued: number;
  /** The part of both that this picker counts, from 0 to 1: its own, and that of those that share. */
  readonly counted: number;
}

/** `loads` is undefined before the first decision. */
export function serverQueues(
  endpoints: readonly Endpoint[],
  loads: InFlightView | undefined,
): ServerQueues {
  let [running, queued, own] = [0, 0, 0];
  for (const each of endpoints) {
    running += each.metrics.runningRequests;
    queued += each.metrics.waitingQueueSize;
    own += loads?.load(each).requests ?? 0;
  }
  // Samples lag: they may lack what was sent since.
  return { running, queued, counted: own === 0 ? 0 : own / Math.max(own, running + queued) };
}
