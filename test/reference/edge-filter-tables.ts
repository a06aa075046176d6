import { CUSTOM_METRICS } from '../../src/framework/endpoint-attributes.ts';
import type { EndpointFields } from '../makers.ts';
import type { FilterTable } from './plugin-tables.ts';

const many = (count: number): readonly EndpointFields[] =>
  Array.from({ length: count }, () => ({}));
const tiers = (...values: readonly string[]): readonly EndpointFields[] =>
  values.map((tier) => ({ labels: tier === '' ? {} : { tier } }));
const places = (...hosts: readonly (readonly [host: string, zone: string])[]) =>
  hosts.map(([host, zone]) => ({ labels: { host, rack: host, zone, region: 'g' } }));
const heat = (...values: readonly (number | undefined)[]): readonly EndpointFields[] =>
  values.map((value) =>
    value === undefined
      ? {}
      : { attributes: [[CUSTOM_METRICS as never, new Map([['heat', value]])]] },
  );
const threshold = (operator: string, value: number, more: object = {}) => ({
  attribute: 'heat',
  algorithm: { type: 'threshold', threshold: { operator, value } },
  ...more,
});
const IDS = ['default/pod-0', 'default/pod-1', 'default/pod-2'];
/** The base64 of default/pod-1. */
const TOKEN = { 'x-session-token': 'ZGVmYXVsdC9wb2QtMQ==' };

const comparison = (operator: string, kept: readonly number[]): FilterTable => ({
  filter: 'endpoint-attribute-filter',
  what: `${operator}, and a missing one passes`,
  parameters: threshold(operator, 5),
  endpoints: heat(4, 5, 6, undefined),
  kept,
});

const algorithm = (type: string, given: object, kept: readonly number[]): FilterTable => ({
  filter: 'endpoint-attribute-filter',
  what: `${type} ${JSON.stringify(given)}, and a missing one passes`,
  parameters: { attribute: 'heat', algorithm: { type, [type]: given } },
  endpoints: heat(4, 5, 8, 9, undefined),
  kept,
});

const SESSIONS = ['session-affinity-filter', 'multicluster-session-affinity-filter'].flatMap(
  (filter): readonly FilterTable[] => [
    {
      filter,
      what: 'the endpoint of the token',
      headers: TOKEN,
      endpoints: many(3),
      ids: IDS,
      kept: [1],
    },
    { filter, what: 'no token', endpoints: many(3), ids: IDS, kept: [0, 1, 2] },
    {
      filter,
      what: 'a token of an endpoint that is no candidate',
      headers: TOKEN,
      endpoints: many(1),
      ids: IDS,
      kept: [0],
    },
  ],
);

/**
 * What the formulas of filters make of missing figures, bounds that are met, and nothing that is
 * left.
 */
export const EDGE_FILTER_TABLES: readonly FilterTable[] = [
  ...SESSIONS,
  comparison('LessThan', [0, 3]),
  comparison('LessThanOrEqual', [0, 1, 3]),
  comparison('GreaterThan', [2, 3]),
  comparison('GreaterThanOrEqual', [1, 2, 3]),
  comparison('Equal', [1, 3]),
  comparison('NotEqual', [0, 2, 3]),
  algorithm('range', { min: 5, max: 8 }, [1, 2, 4]),
  algorithm('topK', { k: 2 }, [2, 3, 4]),
  algorithm('topK', { k: 2, higherIsBetter: false }, [0, 1, 4]),
  algorithm('topK', { k: 9 }, [0, 1, 2, 3, 4]),
  algorithm('percentile', { percentile: 50 }, [1, 2, 3, 4]),
  algorithm('percentile', { percentile: 25, higherIsBetter: false }, [0, 4]),
  algorithm('percentile', { percentile: 0 }, [0, 1, 2, 3, 4]),
  {
    filter: 'endpoint-attribute-filter',
    what: 'of equal ones, no more than k',
    parameters: { attribute: 'heat', algorithm: { type: 'topK', topK: { k: 2 } } },
    endpoints: heat(5, 7, 5, 5),
    kept: [0, 1],
  },
  {
    filter: 'endpoint-attribute-filter',
    what: 'a missing one fails, and none is left',
    parameters: threshold('Equal', 9, { onMissing: 'Fail' }),
    endpoints: heat(4, undefined),
    kept: [],
  },
  {
    filter: 'endpoint-attribute-filter',
    what: 'all where none is left and it falls back',
    parameters: threshold('Equal', 9, { onMissing: 'Fail', fallbackOnEmpty: true }),
    endpoints: heat(4, undefined),
    kept: [0, 1],
  },
  {
    filter: 'topology-affinity-filter',
    what: 'the host of the other profile’s pick',
    peer: places(['h', 'z'])[0],
    endpoints: places(['h', 'z'], ['i', 'z'], ['j', 'y']),
    kept: [0],
  },
  {
    filter: 'topology-affinity-filter',
    what: 'its zone, or nearer',
    parameters: { minAffinity: 'zone' },
    peer: places(['h', 'z'])[0],
    endpoints: places(['h', 'z'], ['i', 'z'], ['j', 'y']),
    kept: [0, 1],
  },
  {
    filter: 'topology-affinity-filter',
    what: 'all where none is as near',
    peer: places(['h', 'z'])[0],
    endpoints: places(['i', 'z'], ['j', 'y']),
    kept: [0, 1],
  },
  {
    filter: 'topology-affinity-filter',
    what: 'all without another pick, and without labels',
    endpoints: many(2),
    kept: [0, 1],
  },
  {
    filter: 'header-based-testing-filter',
    what: 'in the order of the header, one for each address',
    headers: { 'test-epp-endpoint-selection': '10.0.0.2, 10.0.0.1:8001,10.0.0.1' },
    endpoints: many(3),
    addresses: ['10.0.0.1:8000', '10.0.0.1:8001', '10.0.0.2:8000'],
    kept: [2, 1],
  },
  {
    filter: 'header-based-testing-filter',
    what: 'IPv6 with and without brackets and port',
    headers: { 'test-epp-endpoint-selection': 'fd00::2,[fd00::1]:8000' },
    endpoints: many(2),
    addresses: ['[fd00::1]:8000', '[fd00::2]:8000'],
    kept: [1, 0],
  },
  {
    filter: 'header-based-testing-filter',
    what: 'none without the header',
    endpoints: many(1),
    addresses: ['10.0.0.1:8000'],
    kept: [],
  },
  {
    filter: 'header-based-testing-filter',
    what: 'none for a blank header',
    headers: { 'test-epp-endpoint-selection': ' ' },
    endpoints: many(1),
    addresses: ['10.0.0.1:8000'],
    kept: [],
  },
  {
    filter: 'by-label-selector',
    what: 'labels and expressions together',
    parameters: {
      matchLabels: { tier: 'a' },
      matchExpressions: [{ key: 'tier', operator: 'Exists' }],
    },
    endpoints: tiers('a', 'b', ''),
    kept: [0],
  },
  {
    filter: 'label-selector-filter',
    what: 'an empty selector takes all',
    endpoints: tiers('a', ''),
    kept: [0, 1],
  },
  {
    filter: 'utilization-filter',
    what: 'none within, and no way back',
    parameters: { conditions: [{ metric: 'running-requests', maxValue: 0 }] },
    endpoints: [{ running: 1 }],
    kept: [],
  },
  {
    filter: 'utilization-filter',
    what: 'none within, and all again',
    parameters: {
      conditions: [{ metric: 'active-requests', maxValue: 1 }],
      fallbackOnEmpty: true,
    },
    endpoints: many(2),
    requests: [2, 3],
    kept: [0, 1],
  },
  {
    filter: 'concurrency-detector',
    what: 'both ratios',
    parameters: {
      concurrencyMode: 'hybrid',
      maxConcurrency: 4,
      maxTokenConcurrency: 1000,
    },
    endpoints: many(3),
    requests: [3, 4, 3],
    tokens: [999, 0, 1000],
    kept: [0],
  },
  {
    filter: 'prefix-cache-affinity-filter',
    what: 'all where none holds enough',
    endpoints: many(2),
    matched: [7, 0],
    kept: [0, 1],
  },
  {
    filter: 'prefix-cache-affinity-filter',
    what: 'all where the chance to explore is 1',
    parameters: { explorationProbability: 1 },
    endpoints: many(2),
    matched: [10, 0],
    kept: [0, 1],
  },
];
