import type { Registry } from 'prom-client';
import type { Waiting } from '../../../flow/discipline.ts';
import type { EndpointPicker } from '../../../picker/endpoint-picker.ts';
import { showMetric } from '../page/family.ts';

/** Shows what waits at the picker: for its endpoint, and for flow control. */
export function registerWaitingMetrics(
  registry: Registry,
  picker: Pick<EndpointPicker, 'waiting'>,
  router: { readonly waiting: number; readonly waitingRequests: Iterable<Waiting> },
): void {
  const requests = 'Requests that wait at the picker, for their endpoint or for flow control.';
  showMetric(
    registry,
    { name: 'pointsman_waiting_requests', help: requests, type: 'gauge' },
    () => [{ labels: {}, value: picker.waiting.requests + router.waiting }],
  );
  const bytes = 'Bytes of the bodies of requests that wait at the picker.';
  showMetric(registry, { name: 'pointsman_waiting_bytes', help: bytes, type: 'gauge' }, () => [
    { labels: {}, value: picker.waiting.bytes + bytesOf(router.waitingRequests) },
  ]);
}

function bytesOf(waiting: Iterable<Waiting>): number {
  let sum = 0;
  for (const { bytes } of waiting) sum += bytes;
  return sum;
}
