import type { InFlightLoad } from '../framework/cycle-facts.ts';
import type { Endpoint } from '../framework/endpoint.ts';
import { ENGINE_COUNT } from '../framework/endpoint-attributes.ts';

/**
 * The share of KV memory that requests hold: the reported one, or, where the engine counts what it
 * keeps without a request, what is beyond that. What is kept may have been given to requests since,
 * so it is no less than the requests that run there need, as large as ours are. `load` and
 * `capacityTokens` are those of one engine.
 */
export function heldShare(load: InFlightLoad, endpoint: Endpoint, capacityTokens: number): number {
  const { kvCacheUsage } = endpoint.metrics;
  const { keptShare } = load;
  if (keptShare === undefined) return kvCacheUsage;
  const neededShare = runningTokens(load, endpoint) / Math.max(1, capacityTokens);
  return Math.min(kvCacheUsage, Math.max(kvCacheUsage - keptShare, neededShare));
}

/** Tokens of the requests that run at one engine, as large as ours are there; 0 without ours. */
export function runningTokens(load: InFlightLoad, endpoint: Endpoint): number {
  const { requests, contextTokens, begunRequests = 0 } = load;
  if (requests === 0) return 0;
  const running = endpoint.metrics.runningRequests / endpoint.attribute(ENGINE_COUNT);
  return (contextTokens / requests) * Math.max(running, begunRequests);
}
