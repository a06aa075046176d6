import {
  CLUSTER_KV_CACHE_USAGE,
  CLUSTER_QUEUE_SIZE,
  CUSTOM_METRICS,
  LABEL_ATTRIBUTES,
  LORA,
} from '../../src/framework/endpoint-attributes.ts';
import type { EndpointFields } from '../makers.ts';
import type { ScoreTable } from './score-tables.ts';

/** An endpoint with an attribute. */
const having = (key: object, value: unknown): EndpointFields => ({
  attributes: [[key as never, value]],
});
const metric = (name: string, ...values: readonly (number | undefined)[]) =>
  values.map((value) =>
    value === undefined ? {} : having(CUSTOM_METRICS, new Map([[name, value]])),
  );
const adapters = (
  running: readonly string[],
  waiting: readonly string[],
  max: number,
): EndpointFields => having(LORA, { running: new Set(running), waiting: new Set(waiting), max });
const many = (count: number): readonly EndpointFields[] =>
  Array.from({ length: count }, () => ({}));
const labelled = (...all: readonly Readonly<Record<string, string>>[]): readonly EndpointFields[] =>
  all.map((labels) => ({ labels }));
const place = (host: string, rack: string, zone: string, region: string) => ({
  host,
  rack,
  zone,
  region,
});

/** What a request asks for, against what an endpoint is or has. */
const AFFINITY: readonly ScoreTable[] = [
  {
    scorer: 'lora-affinity-scorer',
    what: 'runs, has room, waits, none of these, says nothing',
    endpoints: [
      adapters(['m', 'b'], [], 2),
      adapters(['b'], [], 2),
      adapters(['b', 'c'], ['m'], 2),
      adapters(['b', 'c'], [], 2),
      {},
    ],
    scores: [1, 0.8, 0.6, 0, 0],
  },
  {
    scorer: 'lora-affinity-scorer',
    what: 'one that waits takes room, too',
    endpoints: [adapters(['b'], ['c'], 2), adapters(['b'], ['c'], 3)],
    scores: [0, 0.8],
  },
  {
    scorer: 'header-label-affinity-scorer',
    what: 'the label has the value of the header',
    parameters: { headerName: 'x-tier', labelKey: 'tier' },
    headers: { 'x-tier': 'gold' },
    endpoints: labelled({ tier: 'gold' }, { tier: 'silver' }, {}),
    scores: [1, 0, 0],
  },
  {
    scorer: 'header-label-affinity-scorer',
    what: 'without the header none',
    parameters: { headerName: 'x-tier', labelKey: 'tier' },
    endpoints: labelled({ tier: '' }, {}),
    scores: [0, 0],
  },
  {
    scorer: 'topology-affinity-scorer',
    what: 'as near as the other profile’s pick',
    peer: { labels: place('h', 'r', 'z', 'g') },
    endpoints: labelled(
      place('h', 'r', 'z', 'g'),
      place('i', 'r', 'z', 'g'),
      place('i', 's', 'z', 'g'),
      place('i', 's', 'y', 'g'),
      place('i', 's', 'y', 'f'),
    ),
    scores: [1, 0.2, 0.05, 0.02, 0],
  },
  {
    scorer: 'topology-affinity-scorer',
    what: 'without another pick',
    endpoints: labelled(place('h', 'r', 'z', 'g')),
    scores: [0],
  },
  {
    scorer: 'session-affinity-scorer',
    what: 'the endpoint of the token',
    // The base64 of default/pod-1.
    headers: { 'x-session-token': 'ZGVmYXVsdC9wb2QtMQ==' },
    endpoints: many(3),
    ids: ['default/pod-0', 'default/pod-1', 'default/pod-2'],
    scores: [0, 1, 0],
  },
  {
    scorer: 'session-affinity-scorer',
    what: 'a token of none of them, or none',
    headers: { 'x-session-token': 'ZGVmYXVsdC9nb25l' },
    endpoints: many(2),
    scores: [0, 0],
  },
  {
    scorer: 'mm-embeddings-cache-scorer',
    what: 'the share of the media',
    endpoints: many(3),
    matched: [0, 1, 4],
    totalBlocks: 4,
    scores: [0, 0.25, 1],
  },
  {
    scorer: 'precise-prefix-cache-scorer',
    what: 'the share of the prompt',
    endpoints: many(3),
    matched: [0, 5, 8],
    totalBlocks: 8,
    scores: [0, 0.625, 1],
  },
];

const LOWER = { type: 'linear_lower_is_better' };
const HIGHER = { type: 'linear_higher_is_better' };
const FIXED = { fixedRange: { min: 10, max: 20 } };

/** Numbers that endpoints report, and texts that they have. */
const ATTRIBUTES: readonly ScoreTable[] = [
  {
    scorer: 'endpoint-attribute-scorer',
    what: 'between the candidates’ least and most, lower better',
    parameters: { attributeKey: 'depth', algorithm: LOWER },
    endpoints: metric('depth', 2, 4, 10, undefined),
    scores: [1, 0.75, 0, 0],
  },
  {
    scorer: 'endpoint-attribute-scorer',
    what: 'the same, higher better',
    parameters: { attributeKey: 'depth', algorithm: HIGHER },
    endpoints: metric('depth', 2, 4, 10),
    scores: [0, 0.25, 1],
  },
  {
    scorer: 'endpoint-attribute-scorer',
    what: 'in a fixed range, and beyond its ends',
    parameters: { attributeKey: 'depth', algorithm: { ...LOWER, normalization: FIXED } },
    endpoints: metric('depth', 5, 12, 20, 99),
    scores: [1, 0.8, 0, 0],
  },
  {
    scorer: 'endpoint-attribute-scorer',
    what: 'equal ones',
    parameters: { attributeKey: 'depth', algorithm: LOWER },
    endpoints: metric('depth', 3, 3),
    scores: [1, 1],
  },
  {
    scorer: 'endpoint-attribute-weight-scorer',
    what: 'weights over the largest, and the least for the rest',
    parameters: { attributeKey: 'gpu', producer: 'labels', weights: { h100: 4, a100: 2, l4: 1 } },
    endpoints: [
      ...['h100', 'a100', 'tpu'].map((gpu) => having(LABEL_ATTRIBUTES, new Map([['gpu', gpu]]))),
      {},
    ],
    scores: [1, 0.5, 0.25, 0.25],
  },
  {
    scorer: 'multicluster-queue-scorer',
    what: 'average queues, and none',
    endpoints: metric(CLUSTER_QUEUE_SIZE, 2, 4, 10, undefined),
    scores: [1, 0.75, 0, 0],
  },
  {
    scorer: 'multicluster-kv-cache-utilization-scorer',
    what: 'the free share on average, and none',
    endpoints: metric(CLUSTER_KV_CACHE_USAGE, 0, 0.25, 1, undefined),
    scores: [1, 0.75, 0, 0],
  },
  {
    scorer: 'multicluster-prefix-cache-scorer',
    what: 'the share of the prompt',
    endpoints: many(2),
    matched: [3, 10],
    totalBlocks: 10,
    scores: [0.3, 1],
  },
];

export const AFFINITY_SCORE_TABLES: readonly ScoreTable[] = [...AFFINITY, ...ATTRIBUTES];
