import type { Registry } from 'prom-client';
import type { EndpointPicker } from '../../../picker/endpoint-picker.ts';
import { showMetric } from '../page/family.ts';

/** Shows what waits at the picker until its endpoint can begin it. */
export function registerHoldMetrics(
  registry: Registry,
  picker: Pick<EndpointPicker, 'waiting'>,
): void {
  const requests = 'Requests that wait at the picker until their endpoint can begin them.';
  showMetric(
    registry,
    { name: 'pointsman_waiting_requests', help: requests, type: 'gauge' },
    () => [{ labels: {}, value: picker.waiting.requests }],
  );
  const bytes = 'Bytes of the bodies of requests that wait for their endpoint.';
  showMetric(registry, { name: 'pointsman_waiting_bytes', help: bytes, type: 'gauge' }, () => [
    { labels: {}, value: picker.waiting.bytes },
  ]);
}
