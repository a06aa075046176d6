import type { Registry } from 'prom-client';
import { showMetric } from '../page/family.ts';

/** Counts of what endpoints sent and is not used. Each function counts one. */
export function kvEventCounters(
  registry: Registry,
  reasons: readonly string[],
): { readonly onDropped: (reason: string) => void; readonly onSocketFailed: () => void } {
  const onDropped = countBy(registry, 'reason', reasons, {
    name: 'pointsman_kv_event_messages_dropped_total',
    help: 'Messages of KV events that were dropped, by reason.',
  });
  let failures = 0;
  const sockets = {
    name: 'pointsman_kv_event_socket_failures_total',
    help: 'Failures of sockets for KV events.',
    type: 'counter',
  } as const;
  showMetric(registry, sockets, () => [{ labels: {}, value: failures }]);
  return {
    onDropped,
    onSocketFailed: () => {
      failures += 1;
    },
  };
}

/** A counter with these values of one label. The returned function counts one. */
export function countBy(
  registry: Registry,
  label: string,
  values: readonly string[],
  metric: { readonly name: string; readonly help: string },
): (value: string) => void {
  const counts = new Map(values.map((value) => [value, 0]));
  showMetric(registry, { ...metric, type: 'counter' }, () =>
    [...counts].map(([name, value]) => ({ labels: { [label]: name }, value })),
  );
  return (name) => void counts.set(name, (counts.get(name) ?? 0) + 1);
}
