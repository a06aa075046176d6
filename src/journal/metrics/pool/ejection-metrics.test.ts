import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { makeEndpoint } from '../../../../test/makers.ts';
import type { Endpoint } from '../../../framework/endpoint.ts';
import type { EndpointPicker } from '../../../picker/endpoint-picker.ts';
import { registerEjectionMetrics } from './ejection-metrics.ts';

test('[O355] [V496] an endpoint that is ejected and fails its scrapes is lost once, and requests that one has lost are counted', async () => {
  const registry = new Registry();
  const ejected = new Set(['a', 'b']);
  const failing = new Set(['b', 'c']);
  const picker = {
    pool: { snapshot: () => ['a', 'b', 'c', 'd'].map((id) => makeEndpoint(id)) },
    ledger: { lost: ({ id }: Endpoint) => (id === 'd' ? 3 : 0) },
    ejector: {
      ejected: ({ id }: Endpoint) =>
        ejected.has(id) ? { reason: 'silent', since: 0, until: 0 } : undefined,
      counts: new Map(),
    },
  } as unknown as EndpointPicker;
  registerEjectionMetrics(registry, picker, (id) => failing.has(id));
  const page = await registry.metrics();
  expect(page).toMatch(/^pointsman_endpoints_lost 3$/m);
  expect(page).toMatch(/^pointsman_endpoint_lost_requests\{endpoint_name="c".*\} 0$/m);
  expect(page).toMatch(/^pointsman_endpoint_lost_requests\{endpoint_name="d".*\} 3$/m);
});
