import type { Registry } from 'prom-client';
import { EJECTION_REASONS } from '../../../picker/ejection/ejection-plan.ts';
import type { EndpointPicker } from '../../../picker/endpoint-picker.ts';
import { endpointLabels, showMetric } from '../page/family.ts';

/** Shows which endpoints are out of the candidates, and how often endpoints were ejected. */
export function registerEjectionMetrics(
  registry: Registry,
  { ejector, pool }: Pick<EndpointPicker, 'ejector' | 'pool'>,
): void {
  const ejected = '1 for an endpoint that is out of the candidates because it fails, else 0.';
  showMetric(registry, { name: 'pointsman_endpoint_ejected', help: ejected, type: 'gauge' }, () =>
    pool.snapshot().map((endpoint) => ({
      labels: endpointLabels(endpoint.id),
      value: ejector.ejected(endpoint) === undefined ? 0 : 1,
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
}
