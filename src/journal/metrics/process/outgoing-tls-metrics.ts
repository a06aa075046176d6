import type { Registry } from 'prom-client';
import { showMetric } from '../page/family.ts';

interface OutgoingTlsFiles {
  readonly counts: Readonly<Record<'adopted' | 'refused', number>>;
  refused(): readonly unknown[];
}

/** Shows whether the files of connections by TLS to other servers are in use as they are now. */
export function registerOutgoingTls(registry: Registry, files: OutgoingTlsFiles): void {
  const gauge = 'pointsman_outgoing_tls_last_reload_successful';
  const help =
    'Whether the files of outgoing TLS connections are in use as they are now (1), or one was refused (0).';
  showMetric(registry, { name: gauge, help, type: 'gauge' }, () => [
    { labels: {}, value: files.refused().length === 0 ? 1 : 0 },
  ]);
  const counter = 'pointsman_outgoing_tls_reloads_total';
  const changes = 'Changes of the files of outgoing TLS connections, adopted or refused.';
  showMetric(registry, { name: counter, help: changes, type: 'counter' }, () =>
    Object.entries(files.counts).map(([outcome, value]) => ({ labels: { outcome }, value })),
  );
}
