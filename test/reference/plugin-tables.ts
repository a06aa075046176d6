import type { EndpointFields } from '../makers.ts';

/** Inputs of one filter, and the endpoints that the reference's keeps. */
export interface FilterTable {
  readonly filter: string;
  readonly what: string;
  readonly parameters?: object;
  readonly endpoints: readonly EndpointFields[];
  readonly requests?: readonly number[];
  readonly tokens?: readonly number[];
  readonly matched?: readonly number[];
  readonly promptTokens?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Names of the endpoints; `pod-0` and so on without. */
  readonly ids?: readonly string[];
  /** Where the endpoints listen. */
  readonly addresses?: readonly string[];
  /** What another profile has picked. */
  readonly peer?: EndpointFields | undefined;
  readonly kept: readonly number[];
}

const roles = (...values: readonly string[]): readonly EndpointFields[] =>
  values.map((value) => ({ labels: value === '' ? {} : { 'llm-d.ai/role': value } }));
const ROLES = roles(
  'prefill',
  'decode',
  'encode',
  'both',
  'prefill-decode',
  'encode-prefill',
  'encode-prefill-decode',
  '',
  'other',
);
const tiers = (...values: readonly string[]): readonly EndpointFields[] =>
  values.map((tier) => ({ labels: tier === '' ? {} : { tier } }));
const load = (...pairs: readonly (readonly [number, number])[]): readonly EndpointFields[] =>
  pairs.map(([waiting, kv]) => ({ waiting, kv }));
const many = (count: number): readonly EndpointFields[] =>
  Array.from({ length: count }, () => ({}));
const STALE_MS = 201;

export const FILTER_TABLES = (now: number): readonly FilterTable[] => [
  {
    filter: 'decode-filter',
    what: 'also those without a role',
    endpoints: ROLES,
    kept: [1, 3, 4, 6, 7],
  },
  { filter: 'prefill-filter', what: 'only with a role', endpoints: ROLES, kept: [0, 3, 4, 5, 6] },
  { filter: 'encode-filter', what: 'only with a role', endpoints: ROLES, kept: [2, 5, 6] },
  {
    filter: 'by-label',
    what: 'one of the values',
    parameters: { label: 'tier', validValues: ['a', 'b'] },
    endpoints: tiers('a', 'c', 'b', ''),
    kept: [0, 2],
  },
  {
    filter: 'by-label',
    what: 'or no label',
    parameters: { label: 'tier', validValues: ['a'], allowsNoLabel: true },
    endpoints: tiers('a', 'c', ''),
    kept: [0, 2],
  },
  {
    filter: 'label-selector-filter',
    what: 'Kubernetes selectors',
    parameters: {
      matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['c'] }],
    },
    endpoints: tiers('a', 'c', ''),
    kept: [0, 2],
  },
  {
    filter: 'utilization-detector',
    what: 'strictly below both bounds, and fresh',
    endpoints: [
      ...load([4, 0.79], [5, 0], [0, 0.8]),
      { waiting: 0, kv: 0, sampledAt: now - STALE_MS },
    ],
    kept: [0],
  },
  {
    filter: 'utilization-detector',
    what: 'all where none is left',
    endpoints: load([5, 0], [9, 1]),
    kept: [0, 1],
  },
  {
    filter: 'utilization-detector',
    what: 'headroom above the bounds',
    parameters: { queueDepthThreshold: 10, kvCacheUtilThreshold: 0.5, headroom: 0.2 },
    endpoints: load([11, 0.59], [12, 0], [0, 0.6]),
    kept: [0],
  },
  {
    filter: 'concurrency-detector',
    what: 'strictly below, and none where all are full',
    parameters: { maxConcurrency: 4, headroom: 0.5 },
    endpoints: many(3),
    requests: [5, 6, 7],
    kept: [0],
  },
  {
    filter: 'concurrency-detector',
    what: 'tokens',
    parameters: { concurrencyMode: 'tokens', maxTokenConcurrency: 1000 },
    endpoints: many(2),
    tokens: [999, 1000],
    kept: [0],
  },
  {
    filter: 'utilization-filter',
    what: 'up to the bound of each metric',
    parameters: {
      conditions: [
        { metric: 'waiting-queue', maxValue: 3 },
        { metric: 'kv-cache-utilization', maxValue: 0.5 },
      ],
    },
    endpoints: load([3, 0.5], [4, 0], [0, 0.51]),
    kept: [0],
  },
  {
    filter: 'prefix-cache-affinity-filter',
    what: 'those that hold at least the threshold',
    endpoints: many(3),
    matched: [8, 7, 10],
    kept: [0, 2],
  },
  {
    filter: 'prefix-cache-affinity-filter',
    what: 'all where the sticky ones are too slow',
    parameters: { peakPrefillThroughput: 1000, maxTTFTPenaltyMs: 500 },
    endpoints: many(2),
    matched: [10, 0],
    tokens: [501, 0],
    kept: [0, 1],
  },
  {
    filter: 'prefix-cache-affinity-filter',
    what: 'the sticky one up to the penalty',
    parameters: { peakPrefillThroughput: 1000, maxTTFTPenaltyMs: 500 },
    endpoints: many(2),
    matched: [10, 0],
    tokens: [500, 0],
    kept: [0],
  },
  {
    filter: 'context-length-aware',
    what: 'ranges that hold the prompt, and no label',
    parameters: { enableFiltering: true },
    endpoints: ['0-2000', '2001-4000', 'long', ''].map((range) => ({
      labels: range === '' ? {} : { 'llm-d.ai/context-length-range': range },
    })),
    promptTokens: 2000,
    kept: [0, 3],
  },
];

/**
 * `prefix-based-pd-decider`: prompt tokens, blocks of 64 at the decoder, and whether it separates.
 */
export const DECIDER_TABLE: readonly (readonly [
  parameters: { readonly nonCachedTokens?: number; readonly promptTokens?: number },
  promptTokens: number,
  matched: number,
  separates: boolean,
])[] = [
  [{}, 100_000, 0, false],
  [{ nonCachedTokens: 16 }, 16, 0, true],
  [{ nonCachedTokens: 16 }, 15, 0, false],
  [{ nonCachedTokens: 128 }, 640, 8, true],
  [{ nonCachedTokens: 129 }, 640, 8, false],
  [{ nonCachedTokens: 16, promptTokens: 640 }, 640, 0, true],
  [{ nonCachedTokens: 16, promptTokens: 641 }, 640, 0, false],
  [{ nonCachedTokens: 16, promptTokens: 0 }, 640, 9, true],
  [{ nonCachedTokens: 16 }, 640, 10, false],
];
