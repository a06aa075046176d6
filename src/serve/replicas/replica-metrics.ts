import type { Registry } from 'prom-client';
import { showMetric } from '../../journal/metrics/page/family.ts';
import type { ReplicaStatus } from '../../replicas/replica-status.ts';

type Read = (status: ReplicaStatus) => number;

const GAUGES: readonly (readonly [name: string, help: string, read: Read])[] = [
  ['connected', '1 while there is a connection to other replicas.', ({ connected }) => +connected],
  ['peers', 'Other replicas that sent a message in the last seconds.', ({ peers }) => peers.length],
  [
    'peer_requests',
    'Requests of other replicas that have not ended.',
    ({ peers }) => sumOf(peers, ({ open }) => open),
  ],
  [
    'lag_seconds',
    'The longest time that the last message of a replica took, by the clocks of both machines.',
    ({ peers }) => Math.max(0, ...peers.map(({ lagMs }) => lagMs)) / 1000,
  ],
];

const COUNTERS: readonly (readonly [name: string, help: string, read: Read])[] = [
  ['sent_messages_total', 'Messages sent.', ({ sent }) => sent.messages],
  ['sent_bytes_total', 'Bytes of messages sent.', ({ sent }) => sent.bytes],
  ['received_messages_total', 'Messages received.', ({ received }) => received.messages],
  ['received_bytes_total', 'Bytes of messages received.', ({ received }) => received.bytes],
  ['warm_blocks_total', 'Prompt blocks got from others.', (s) => s.received.prefixBlocks],
  ['peers_gone_total', 'Replicas that went silent or ended.', (s) => s.received.peersGone],
];

/** Messages that had no effect, by reason. */
const DROPS: readonly (readonly [reason: string, read: Read])[] = [
  ['not-sent', ({ sent }) => sent.dropped],
  ['malformed', ({ received }) => received.malformed],
  ['version', ({ received }) => received.otherVersions],
  ['forged', ({ received }) => received.forged],
  ['flooded', ({ received }) => received.flooded],
  ['same-id', ({ received }) => received.sameId],
  ['too-many-replicas', ({ received }) => received.refusedPeers],
  ['duplicate', ({ peers }) => sumOf(peers, ({ duplicates }) => duplicates)],
  ['missed', ({ peers }) => sumOf(peers, ({ missed }) => missed)],
  ['hurried', ({ peers }) => sumOf(peers, ({ hurried }) => hurried)],
];

/** Puts the state of sharing on the metrics page. */
export function registerReplicaMetrics(
  registry: Registry,
  replica: { status(): ReplicaStatus },
): void {
  for (const [families, type] of [
    [GAUGES, 'gauge'],
    [COUNTERS, 'counter'],
  ] as const) {
    for (const [name, help, read] of families) {
      showMetric(registry, { name: `pointsman_replica_${name}`, help, type }, () => [
        { labels: {}, value: read(replica.status()) },
      ]);
    }
  }
  const help =
    'Messages between replicas that had no effect; of replicas that are gone, not counted.';
  const family = { name: 'pointsman_replica_dropped_messages', help, type: 'gauge' as const };
  showMetric(registry, family, () => {
    const status = replica.status();
    return DROPS.map(([reason, read]) => ({ labels: { reason }, value: read(status) }));
  });
}

function sumOf<T>(all: readonly T[], read: (each: T) => number): number {
  return all.reduce((sum, each) => sum + read(each), 0);
}
