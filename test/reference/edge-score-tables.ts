import { CUSTOM_METRICS, LORA } from '../../src/framework/endpoint-attributes.ts';
import type { EndpointFields } from '../makers.ts';
import type { ScoreTable } from './score-tables.ts';

/** Without a sample, and with figures that must not count. */
const unknown = (fields: EndpointFields = {}): EndpointFields => ({
  ...fields,
  sampledAt: Number.NEGATIVE_INFINITY,
});
const many = (count: number): readonly EndpointFields[] =>
  Array.from({ length: count }, () => ({}));
const depth = (value: number): EndpointFields => ({
  attributes: [[CUSTOM_METRICS as never, new Map([['depth', value]])]],
});
const adapters = (max: number): EndpointFields => ({
  attributes: [[LORA as never, { running: new Set(), waiting: new Set(), max }]],
});
const byDepth = (type: string, normalization?: object) => ({
  attributeKey: 'depth',
  algorithm: { type, ...(normalization && { normalization }) },
});

/** Pools that have nothing to compare: no figures, equal ones, one endpoint, a bound of 0. */
export const EDGE_SCORE_TABLES: readonly ScoreTable[] = [
  ...(['queue-scorer', 'running-requests-size-scorer', 'kv-cache-utilization-scorer'] as const).map(
    (scorer) => ({
      scorer,
      what: 'no figures at all',
      endpoints: [unknown({ waiting: 3, running: 3, kv: 0.3 }), unknown(), unknown({ kv: 0.9 })],
      scores: [1, 1, 1],
    }),
  ),
  {
    scorer: 'running-requests-size-scorer',
    what: 'one endpoint',
    endpoints: [{ running: 9 }],
    scores: [1],
  },
  {
    scorer: 'running-requests-size-scorer',
    what: 'an endpoint without metrics takes no part',
    endpoints: [{ running: 2 }, { running: 4 }, unknown()],
    scores: [1, 0, 0],
  },
  {
    scorer: 'kv-cache-utilization-scorer',
    what: 'full, beyond full, and equal ones',
    endpoints: [{ kv: 1 }, { kv: 1.25 }, { kv: 0.5 }, { kv: 0.5 }],
    scores: [0, 0, 0.5, 0.5],
  },
  {
    scorer: 'kv-cache-utilization-scorer',
    what: 'one endpoint counts by its share, not as the best',
    endpoints: [{ kv: 0.875 }],
    scores: [0.125],
  },
  {
    scorer: 'load-aware-scorer',
    what: 'a threshold of 0 or below is the usual one',
    parameters: { threshold: 0 },
    endpoints: [{ waiting: 64 }, { waiting: 128 }],
    scores: [0.25, 0],
  },
  {
    scorer: 'load-aware-scorer',
    what: 'one endpoint, beyond the threshold',
    endpoints: [{ waiting: 1000 }],
    scores: [0],
  },
  {
    scorer: 'active-request-scorer',
    what: 'one busy endpoint is the busiest',
    endpoints: many(1),
    requests: [3],
    scores: [0],
  },
  {
    scorer: 'active-request-scorer',
    what: 'equal busy ones',
    endpoints: many(2),
    requests: [3, 3],
    scores: [0, 0],
  },
  {
    scorer: 'active-request-scorer',
    what: 'parameters out of range are the usual ones',
    parameters: { idleThreshold: -2, maxBusyScore: 1.5 },
    endpoints: many(2),
    requests: [1, 4],
    scores: [0.75, 0],
  },
  {
    scorer: 'active-request-scorer',
    what: 'no score for busy ones',
    parameters: { maxBusyScore: 0, idleThreshold: 1 },
    endpoints: many(3),
    requests: [1, 2, 4],
    scores: [1, 0, 0],
  },
  {
    scorer: 'token-load-scorer',
    what: 'nothing to compute anywhere',
    endpoints: many(2),
    matched: [10, 10],
    promptTokens: 640,
    scores: [1, 1],
  },
  {
    scorer: 'token-load-scorer',
    what: 'a threshold of 0 is the usual one',
    parameters: { queueThresholdTokens: 0 },
    endpoints: many(1),
    tokens: [4_194_304 / 2 - 640],
    promptTokens: 640,
    scores: [0.5],
  },
  {
    scorer: 'prefix-cache-scorer',
    what: 'the length alone, without blocks',
    parameters: { matchLengthWeight: 1 },
    endpoints: many(2),
    totalBlocks: 0,
    scores: [0, 0],
  },
  {
    scorer: 'prefix-cache-scorer',
    what: 'the length beyond its scale counts as the scale',
    parameters: { matchLengthWeight: 1, matchLengthScaleTokens: 640 },
    endpoints: many(2),
    matched: [10, 20],
    totalBlocks: 40,
    scores: [1, 1],
  },
  {
    scorer: 'lora-affinity-scorer',
    what: 'no room at all',
    endpoints: [adapters(0), adapters(1)],
    scores: [0, 0.8],
  },
  {
    scorer: 'context-length-aware',
    what: 'one that is out of range is still more than none',
    endpoints: [{ labels: { 'llm-d.ai/context-length-range': '0-1000' } }],
    promptTokens: 3000,
    scores: [0.1],
  },
  {
    scorer: 'endpoint-attribute-scorer',
    what: 'no attribute anywhere',
    parameters: byDepth('linear_lower_is_better'),
    endpoints: many(2),
    scores: [0, 0],
  },
  {
    scorer: 'endpoint-attribute-scorer',
    what: 'one endpoint',
    parameters: byDepth('linear_higher_is_better'),
    endpoints: [depth(-7)],
    scores: [1],
  },
  {
    scorer: 'endpoint-attribute-scorer',
    what: 'one of two has the attribute',
    parameters: byDepth('linear_lower_is_better'),
    endpoints: [depth(5), {}],
    scores: [1, 0],
  },
  {
    scorer: 'mm-embeddings-cache-scorer',
    what: 'no media',
    endpoints: many(2),
    totalBlocks: 0,
    scores: [0, 0],
  },
  {
    scorer: 'multicluster-queue-scorer',
    what: 'nothing known of any cluster',
    endpoints: many(2),
    scores: [0, 0],
  },
  {
    scorer: 'multicluster-kv-cache-utilization-scorer',
    what: 'nothing known of any cluster',
    endpoints: many(2),
    scores: [0, 0],
  },
];
