import type { Registry } from 'prom-client';
import { countBy } from '../page/count-by.ts';
import { type MetricSample, showMetric } from '../page/family.ts';

interface SkippedSamples {
  readonly cacheKind: string;
  readonly reason: string;
  readonly count: number;
}

/** What is shown of the KV events that endpoints publish. */
interface KvEventFigures {
  readonly endpoints: readonly {
    readonly endpoint: string;
    readonly messages: number;
    readonly reconnections: number;
    readonly socketFailures: Readonly<Record<string, number>>;
  }[];
  readonly admissions: number;
  readonly evictions: number;
  readonly removalsSuppressed: number;
  readonly removalsForwarded: number;
  readonly storesSkipped: readonly SkippedSamples[];
  readonly removalsSkipped: readonly SkippedSamples[];
  readonly lookups: number;
  readonly lookupHits: number;
  readonly subscribers: number;
  readonly bindFailures: ReadonlyMap<string, number>;
  readonly held: number;
  readonly streams: Readonly<Record<string, number>>;
  readonly unusable: ReadonlyMap<string, number>;
  readonly prompts: ReadonlyMap<string, number>;
}

type ReadFigures = (figures: KvEventFigures) => number | readonly MetricSample[];

/** Events are handled by one loop: the reference's number of workers. */
const WORKERS = 1;

/** The reference's names and labels, by type. */
const FAMILIES: readonly (readonly [
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  read: ReadFigures,
])[] = [
  [
    'index_admissions_total',
    'counter',
    'Copies of KV blocks that were added to the index.',
    (of) => of.admissions,
  ],
  [
    'index_evictions_total',
    'counter',
    'Copies of KV blocks that were removed from the index.',
    (of) => of.evictions,
  ],
  [
    'index_lookup_requests_total',
    'counter',
    'Prompts that were looked up in the index of KV blocks.',
    (of) => of.lookups,
  ],
  [
    'index_lookup_hits_total',
    'counter',
    'Leading blocks of a prompt at the endpoint that has most of them.',
    (of) => of.lookupHits,
  ],
  [
    'index_max_pod_hit_count_total',
    'counter',
    'Leading blocks of a prompt at the endpoint that has most of them: equal to the look-up hits.',
    (of) => of.lookupHits,
  ],
  [
    'events_dedup_removed_hashes_suppressed_total',
    'counter',
    'Blocks in removals that have another copy in the same tier.',
    (of) => of.removalsSuppressed,
  ],
  [
    'events_dedup_removed_hashes_forwarded_total',
    'counter',
    'Blocks in removals that have no other copy in the same tier.',
    (of) => of.removalsForwarded,
  ],
  [
    'events_stores_skipped_total',
    'counter',
    'Events that store blocks and were left out, or a part of them.',
    (of) => skippedSamples(of.storesSkipped),
  ],
  [
    'events_removals_skipped_total',
    'counter',
    'Events that remove blocks and were left out.',
    (of) => skippedSamples(of.removalsSkipped),
  ],
  [
    'events_active_subscribers',
    'gauge',
    'Sockets that wait for events, connected or not.',
    (of) => of.subscribers,
  ],
  [
    'events_subscriber_reconnections_total',
    'counter',
    'Connections to a publisher after the first.',
    (of) => byEndpoint(of, ({ reconnections }) => reconnections),
  ],
  [
    'events_messages_received_total',
    'counter',
    'Messages of a publisher.',
    // Alerts take 0 messages a second for a publisher that has stopped, not for one that never
    // began.
    (of) => byEndpoint(of, ({ messages }) => messages).filter(({ value }) => value > 0),
  ],
  [
    'events_zmq_errors_total',
    'counter',
    'Failures of sockets, by operation.',
    (of) => failureSamples(of),
  ],
  ['events_pool_queue_depth', 'gauge', 'Messages that wait for a replay.', (of) => of.held],
  ['events_pool_capacity', 'gauge', 'Always 1: one loop handles all events.', () => WORKERS],
];

/**
 * Shows the KV events that a picker takes under the reference's names. `read` gives undefined while
 * no plugin takes any; then only the metrics' heads are shown.
 */
export function registerKvEventMetrics(
  registry: Registry,
  read: () => KvEventFigures | undefined,
): void {
  const show = (name: string, help: string, type: 'counter' | 'gauge', from: ReadFigures): void =>
    showMetric(registry, { name, help, type }, () => {
      const figures = read();
      const value = figures === undefined ? [] : from(figures);
      return typeof value === 'number' ? [{ labels: {}, value }] : value;
    });
  for (const [name, type, help, from] of FAMILIES) {
    show(`llm_d_epp_kv_cache_${name}`, `[ALPHA] ${help}`, type, from);
  }
  show('pointsman_kv_event_stream_total', 'What became of event streams.', 'counter', (of) =>
    Object.entries(of.streams).map(([what, value]) => ({ labels: { what }, value })),
  );
  const prompts = 'Prompts by where their tokens came from, or why they have none.';
  show('pointsman_kv_event_prompts_total', prompts, 'counter', (of) =>
    [...of.prompts].map(([tokens, value]) => ({ labels: { tokens }, value })),
  );
  const help = 'Endpoints whose KV events cannot be used, by reason.';
  show('pointsman_kv_events_unusable_endpoints', help, 'gauge', (of) =>
    [...of.unusable].map(([reason, value]) => ({ labels: { reason }, value })),
  );
}

function skippedSamples(skipped: readonly SkippedSamples[]): readonly MetricSample[] {
  return skipped.map(({ cacheKind, reason, count }) => ({
    labels: { cache_kind: cacheKind, reason },
    value: count,
  }));
}

function byEndpoint(
  { endpoints }: KvEventFigures,
  read: (endpoint: KvEventFigures['endpoints'][number]) => number,
): readonly MetricSample[] {
  return endpoints.map((each) => ({
    labels: { pod_identifier: each.endpoint },
    value: read(each),
  }));
}

function failureSamples({ endpoints, bindFailures }: KvEventFigures): readonly MetricSample[] {
  const sample = (pod: string, operation: string, value: number): MetricSample => ({
    labels: { operation, pod_identifier: pod },
    value,
  });
  return [
    ...endpoints.flatMap(({ endpoint, socketFailures }) =>
      Object.entries(socketFailures).map(([name, value]) => sample(endpoint, name, value)),
    ),
    ...[...bindFailures].map(([address, value]) => sample(address, 'bind', value)),
  ];
}

/** Counts of KV events that are not used. Each function counts one. */
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
