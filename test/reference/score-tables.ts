import type { EndpointFields } from '../makers.ts';

/** Inputs of one scorer, and the scores that the reference's formula gives for them. */
export interface ScoreTable {
  readonly scorer: string;
  readonly what: string;
  readonly parameters?: object;
  readonly endpoints: readonly EndpointFields[];
  /** In flight by this picker, by endpoint. */
  readonly requests?: readonly number[];
  readonly tokens?: readonly number[];
  /** Blocks of 64 tokens of the prompt, at each endpoint and in all. */
  readonly matched?: readonly number[];
  readonly totalBlocks?: number;
  readonly promptTokens?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Names of the endpoints; `pod-0` and so on without. */
  readonly ids?: readonly string[];
  /** What another profile has picked. */
  readonly peer?: EndpointFields;
  readonly scores: readonly number[];
}

const queues = (...waiting: readonly number[]): readonly EndpointFields[] =>
  waiting.map((each) => ({ waiting: each }));
const running = (...counts: readonly number[]): readonly EndpointFields[] =>
  counts.map((each) => ({ running: each }));
const kv = (...shares: readonly number[]): readonly EndpointFields[] =>
  shares.map((each) => ({ kv: each }));
const ranges = (...labels: readonly string[]): readonly EndpointFields[] =>
  labels.map((each) => ({ labels: each === '' ? {} : { 'llm-d.ai/context-length-range': each } }));
const many = (count: number): readonly EndpointFields[] =>
  Array.from({ length: count }, () => ({}));

const LOAD: readonly ScoreTable[] = [
  {
    scorer: 'queue-scorer',
    what: 'from the shortest to the longest queue',
    endpoints: queues(0, 5, 10),
    scores: [1, 0.5, 0],
  },
  {
    scorer: 'queue-scorer',
    what: 'queues that are no round shares',
    endpoints: queues(3, 4, 10, 1),
    scores: [0.7777777777777778, 0.6666666666666666, 0, 1],
  },
  { scorer: 'queue-scorer', what: 'equal queues', endpoints: queues(7, 7, 7), scores: [1, 1, 1] },
  { scorer: 'queue-scorer', what: 'one endpoint', endpoints: queues(99), scores: [1] },
  {
    scorer: 'queue-scorer',
    what: 'an endpoint without metrics, which takes no part',
    endpoints: [{ waiting: 2 }, { waiting: 4 }, { waiting: 0, sampledAt: -Infinity }],
    scores: [1, 0, 0],
  },
  {
    scorer: 'running-requests-size-scorer',
    what: 'from the smallest to the largest batch',
    endpoints: running(8, 2, 32),
    scores: [0.8, 1, 0],
  },
  {
    scorer: 'running-requests-size-scorer',
    what: 'equal batches',
    endpoints: running(0, 0),
    scores: [1, 1],
  },
  {
    scorer: 'kv-cache-utilization-scorer',
    what: 'the free share',
    endpoints: kv(0, 0.25, 0.8, 1),
    scores: [1, 0.75, 0.2, 0],
  },
  {
    scorer: 'load-aware-scorer',
    what: 'half for an empty queue, nothing from the threshold on',
    endpoints: queues(0, 32, 128, 500),
    scores: [0.5, 0.375, 0, 0],
  },
  {
    scorer: 'load-aware-scorer',
    what: 'a threshold of one’s own',
    parameters: { threshold: 10 },
    endpoints: queues(1, 9, 10),
    scores: [0.45, 0.05, 0],
  },
  {
    scorer: 'active-request-scorer',
    what: 'requests against the most',
    endpoints: many(4),
    requests: [0, 1, 3, 4],
    scores: [1, 0.75, 0.25, 0],
  },
  {
    scorer: 'active-request-scorer',
    what: 'idle endpoints, and a gap to busy ones',
    parameters: { idleThreshold: 2, maxBusyScore: 0.5 },
    endpoints: many(4),
    requests: [2, 3, 5, 10],
    scores: [1, 0.35, 0.25, 0],
  },
  {
    scorer: 'active-request-scorer',
    what: 'all idle',
    parameters: { idleThreshold: 10 },
    endpoints: many(2),
    requests: [10, 1],
    scores: [1, 1],
  },
  {
    scorer: 'token-load-scorer',
    what: 'tokens in flight and of this request',
    parameters: { queueThresholdTokens: 10_000 },
    endpoints: many(3),
    tokens: [0, 2360, 20_000],
    matched: [0, 10, 0],
    totalBlocks: 10,
    promptTokens: 640,
    scores: [0.936, 0.764, 0],
  },
];

const PREFIX: readonly ScoreTable[] = [
  {
    scorer: 'prefix-cache-scorer',
    what: 'the share of the prompt',
    endpoints: many(4),
    matched: [0, 3, 8, 10],
    totalBlocks: 10,
    scores: [0, 0.3, 0.8, 1],
  },
  {
    scorer: 'prefix-cache-scorer',
    what: 'no blocks',
    endpoints: many(2),
    matched: [0, 0],
    totalBlocks: 0,
    scores: [0, 0],
  },
  {
    scorer: 'prefix-cache-scorer',
    what: 'the length of the match, squared',
    parameters: { matchLengthWeight: 0.5, matchLengthScaleTokens: 1280 },
    endpoints: many(3),
    matched: [5, 10, 40],
    totalBlocks: 40,
    scores: [0.09375, 0.25, 1],
  },
  {
    scorer: 'prefix-cache-scorer',
    what: 'the length alone',
    parameters: { matchLengthWeight: 1 },
    endpoints: many(2),
    matched: [64, 128],
    totalBlocks: 128,
    scores: [0.25, 1],
  },
  {
    scorer: 'no-hit-lru-scorer',
    what: 'a request with a hit',
    endpoints: many(3),
    matched: [0, 1, 0],
    scores: [0.5, 0.5, 0.5],
  },
  {
    scorer: 'no-hit-lru-scorer',
    what: 'a cold request at one endpoint',
    endpoints: many(1),
    scores: [1],
  },
];

const PLACE: readonly ScoreTable[] = [
  {
    scorer: 'context-length-aware',
    what: 'in range, narrower and with more room better',
    endpoints: ranges('0-10000', '0-4000', '1000-2000'),
    promptTokens: 2000,
    // 0.3 + 0.7 × (0.7 / (1 + width / 10000) + 0.3 × headroom / width)
    scores: [0.713, 0.755, 0.7454545454545454],
  },
  {
    scorer: 'context-length-aware',
    what: 'a range of one length, no label, a label that is no range',
    endpoints: ranges('2000-2000', '', 'short', '9-1'),
    promptTokens: 2000,
    scores: [1, 0.5, 0, 0],
  },
  {
    scorer: 'context-length-aware',
    what: 'out of range, by the distance',
    endpoints: ranges('0-1000', '5000-10000', '2001-3000'),
    promptTokens: 2000,
    scores: [0.15, 0.075, 0.2997002997002997],
  },
];

export const SCORE_TABLES: readonly ScoreTable[] = [...LOAD, ...PREFIX, ...PLACE];
