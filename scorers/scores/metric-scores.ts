import type { Endpoint, EndpointMetrics } from '../../src/framework/endpoint.ts';
import { isFresh } from '../../src/framework/endpoint.ts';
import type { Millis } from '../../src/framework/runtime.ts';
import { lowerIsBetter } from './normalize.ts';

/**
 * Scores by a scraped value, the lowest best, scaled over the endpoints whose sample is fresh. An
 * endpoint without a fresh sample is unknown and scores 0; where all endpoints are unknown, all
 * score 1.
 */
export function lowerMetricIsBetter(
  endpoints: readonly Endpoint[],
  now: Millis,
  value: (metrics: EndpointMetrics) => number,
): readonly number[] {
  const fresh = endpoints.filter((endpoint) => isFresh(endpoint, now));
  if (fresh.length === 0) return endpoints.map(() => 1);
  const scores = lowerIsBetter(fresh.map(({ metrics }) => value(metrics)));
  if (fresh.length === endpoints.length) return scores;
  let next = 0;
  return endpoints.map((endpoint) => (isFresh(endpoint, now) ? (scores[next++] ?? 0) : 0));
}

/** Scores by a scraped value in [0, 1]; unknown endpoints as in `lowerMetricIsBetter`. */
export function metricScore(
  endpoints: readonly Endpoint[],
  now: Millis,
  score: (metrics: EndpointMetrics) => number,
): readonly number[] {
  const known = endpoints.some((endpoint) => isFresh(endpoint, now));
  if (!known) return endpoints.map(() => 1);
  return endpoints.map((endpoint) =>
    isFresh(endpoint, now) ? Math.min(1, Math.max(0, score(endpoint.metrics))) : 0,
  );
}
