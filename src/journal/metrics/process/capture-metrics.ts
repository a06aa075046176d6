import type { Registry } from 'prom-client';
import type { CaptureStatus } from '../../capture/capture-writer.ts';
import { showMetric } from '../page/family.ts';

/** Shows on the page whether the capture is written, and what is missing in it. */
export function registerCaptureMetrics(
  registry: Registry,
  capture: { status(): CaptureStatus },
): void {
  const show = (
    type: 'counter' | 'gauge',
    name: string,
    help: string,
    read: (status: CaptureStatus) => readonly { readonly labels: object; readonly value: number }[],
  ): void =>
    showMetric(registry, { name: `pointsman_capture_${name}`, help, type }, () =>
      read(capture.status()).map(({ labels, value }) => ({ labels: { ...labels }, value })),
    );
  show('gauge', 'writing', '1 while the capture is written, 0 after a failure.', ({ writing }) => [
    { labels: {}, value: writing ? 1 : 0 },
  ]);
  show('counter', 'failures_total', 'Failures to write the capture.', ({ failures }) => [
    { labels: {}, value: failures },
  ]);
  const missing = 'Records that are missing in the capture, by reason.';
  show('counter', 'missing_records_total', missing, ({ lostRecords, leftOutRecords }) => [
    { labels: { reason: 'failure' }, value: lostRecords },
    { labels: { reason: 'overload' }, value: leftOutRecords },
  ]);
}
