import type { Registry } from 'prom-client';
import type { Endpoint, EndpointId } from '../../../framework/endpoint.ts';
import { EJECTION_REASONS } from '../../../picker/ejection/ejection-plan.ts';
import type { EndpointPicker } from '../../../picker/endpoint-picker.ts';
import { endpointLabels, showMetric } from '../page/family.ts';

/**
 * Shows which endpoints are out of the candidates, how often endpoints were ejected, how many are
 * ejected or fail their scrapes, what they have lost, and how many requests were not served by
 * their pick. An endpoint that is gone is mostly both, ejected and failing: sums would count it
 * twice.
 */
export function registerEjectionMetrics(
  registry: Registry,
  { ejector, pool, ledger }: Pick<EndpointPicker, 'ejector' | 'pool' | 'ledger'>,
  isFailing: (id: EndpointId) => boolean,
): void {
  const ejected = '1 for an endpoint that is out of the candidates because it fails, else 0.';
  showMetric(registry, { name: 'pointsman_endpoint_ejected', help: ejected, type: 'gauge' }, () =>
    pool.snapshot().map((endpoint) => ({
      labels: endpointLabels(endpoint.id),
      value: ejector.ejected(endpoint) === undefined ? 0 : 1,
    })),
  );
  const lost = 'Endpoints that are ejected or whose last scrape failed, each counted once.';
  showMetric(registry, { name: 'pointsman_endpoints_lost', help: lost, type: 'gauge' }, () => {
    const isLost = (endpoint: Endpoint): boolean =>
      ejector.ejected(endpoint) !== undefined || isFailing(endpoint.id);
    return [{ labels: {}, value: pool.snapshot().filter(isLost).length }];
  });
  const gone = 'Requests in flight that are taken for lost by their server: they are no load.';
  showMetric(
    registry,
    { name: 'pointsman_endpoint_lost_requests', help: gone, type: 'gauge' },
    () =>
      pool.snapshot().map((endpoint) => ({
        labels: endpointLabels(endpoint.id),
        value: ledger.lost(endpoint),
      })),
  );
  const ejections = 'Ejections of endpoints, by reason; failed trials count, too.';
  showMetric(
    registry,
    { name: 'pointsman_ejections_total', help: ejections, type: 'counter' },
    () =>
      EJECTION_REASONS.map((reason) => ({
        labels: { reason },
        value: ejector.counts.get(reason) ?? 0,
      })),
  );
  const fallbacks = 'Requests that a gateway sent to another endpoint than the one picked.';
  const family = { name: 'pointsman_fallback_requests_total', help: fallbacks } as const;
  showMetric(registry, { ...family, type: 'counter' }, () => [
    { labels: {}, value: ejector.fallbacks },
  ]);
}
