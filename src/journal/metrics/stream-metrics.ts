import type { Registry } from 'prom-client';
import { showMetric } from './family.ts';

/** What the streams of gateways take at the moment of the scrape. */
interface StreamUsage {
  readonly openStreams: number;
  readonly streamsMax: number;
  readonly heldBytes: number;
  readonly heldBytesMax: number;
  readonly refused: ReadonlyMap<string, number>;
}

/** Shows the streams of gateways, their memory, its bounds, and requests refused for them. */
export function registerStreamMetrics(registry: Registry, usage: () => StreamUsage): void {
  const gauge = (name: string, help: string, read: (usage: StreamUsage) => number): void =>
    showMetric(registry, { name: `pointsman_${name}`, help, type: 'gauge' }, () => [
      { labels: {}, value: read(usage()) },
    ]);
  gauge('open_streams', 'Streams of gateways, one for each request.', (each) => each.openStreams);
  gauge('open_streams_max', 'The bound of open streams.', (each) => each.streamsMax);
  gauge('held_bytes', 'Bytes of bodies kept for all streams.', (each) => each.heldBytes);
  gauge('held_bytes_max', 'The bound of kept bytes.', (each) => each.heldBytesMax);
  const help = 'Requests refused to stay within a limit, by reason.';
  showMetric(registry, { name: 'pointsman_refused_requests_total', help, type: 'counter' }, () =>
    [...usage().refused].map(([reason, value]) => ({ labels: { reason }, value })),
  );
}
