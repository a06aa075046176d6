import type { Endpoint } from '../../framework/endpoint.ts';
import { isFresh } from '../../framework/endpoint.ts';
import { CUSTOM_METRICS } from '../../framework/keys.ts';
import type { Millis } from '../../framework/runtime.ts';

/** What every server reports, by the names the reference gives them. */
const STANDARD: ReadonlyMap<string, (endpoint: Endpoint) => number> = new Map([
  ['WaitingQueueSize', ({ metrics }) => metrics.waitingQueueSize],
  ['RunningRequestsSize', ({ metrics }) => metrics.runningRequests],
  ['KVCacheUsagePercent', ({ metrics }) => metrics.kvCacheUsage],
]);

/**
 * A figure of an endpoint by name: one that a configuration has read from its page, or a standard one. Undefined where
 * there is none, or where it is too old to say anything of now.
 */
export function numericAttribute(
  endpoint: Endpoint,
  name: string,
  now: Millis,
): number | undefined {
  if (!isFresh(endpoint, now)) return undefined;
  return endpoint.attribute(CUSTOM_METRICS).get(name) ?? STANDARD.get(name)?.(endpoint);
}
