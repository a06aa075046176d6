import type { Endpoint } from './endpoint.ts';
import type { Millis } from './runtime.ts';

/**
 * The staleness bounds, all of them. A sample older than this says nothing about now: 40 missed scrapes at the
 * default interval. The reference counts pods as ready by the same bound (`--metrics-staleness-threshold` 2 s).
 */
export const METRICS_STALE_MS: Millis = 2000;

/** False for an endpoint never scraped: unknown is not idle. */
export function isFresh(endpoint: Endpoint, now: Millis): boolean {
  return now - endpoint.metrics.sampledAt <= METRICS_STALE_MS;
}
