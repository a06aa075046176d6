import type { Traffic } from '../../src/cost-model/queueing-delay.ts';
import type { InFlightLoad, StepTime, StepUnderWay } from '../../src/framework/cycle-facts.ts';

/** What the cost of a request depends on, apart from the endpoint. */
export interface RequestCost {
  readonly promptTokens: number;
  /** The expected length of the answer. */
  readonly outputTokens: number;
  /** Whether it is no matter how long others wait for it: see `InFlightView.isCrowdedOut`. */
  readonly isCrowdedOut: boolean;
}

/** What the cost of a request on an endpoint depends on. */
export interface EndpointState {
  readonly load: InFlightLoad;
  readonly engine: StepTime;
  readonly traffic: Traffic;
  /** What is computed of the pending prompts, where it counts. */
  readonly computedMs: number;
  readonly step: StepUnderWay;
  readonly cachedTokens: number;
  readonly capacityTokens: number;
  /** KV memory in use, in tokens, as the engine last reported it. */
  readonly heldTokens: number;
  /** What each request that runs there holds in the mean, of all pickers; 0 where none is reported. */
  readonly heldByEach: number;
  /** The wait for the adapter's slot, or for its load. */
  readonly adapterMs: number;
  /** The wait until one of the requests that the server runs has ended. */
  readonly slotMs: number;
  /** The penalty for a recent failure. */
  readonly suspectMs: number;
  /** The penalty where the request is longer than what the endpoint takes. */
  readonly tooLongMs: number;
  /** The last sample is too old to rely on. */
  readonly stale: boolean;
  /**
   * Requests in flight for each token of memory, over the endpoints that are scored together. What
   * one of them got says little of what it will get: a few requests, chosen by their cost there.
   */
  readonly requestsPerToken: () => number;
}
