import type { InFlightLoad } from '../framework/cycle-facts.ts';
import type { Endpoint } from '../framework/endpoint.ts';
import { ENGINE_COUNT } from '../framework/endpoint-attributes.ts';

/** With less memory in use, other things that use it weigh too much. */
const USE_MIN = 0.2;

/**
 * The KV memory of each engine of an endpoint that does not report its size: the requests that run
 * there, as large as ours are, hold the share of it that is in use, without what no request holds.
 * Undefined where that shows nothing.
 */
export function shownCapacityTokens(
  { requests, contextTokens, keptShare = 0 }: InFlightLoad,
  endpoint: Endpoint,
): number | undefined {
  const { runningRequests, kvCacheUsage } = endpoint.metrics;
  const usage = kvCacheUsage - keptShare;
  if (requests === 0 || usage < USE_MIN) return undefined;
  const tokens = ((contextTokens / requests) * runningRequests) / usage;
  return tokens > 0 ? tokens / endpoint.attribute(ENGINE_COUNT) : undefined;
}
