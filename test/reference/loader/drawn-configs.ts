import type { Random } from '../../../src/framework/runtime.ts';

type Value = unknown;
type Fields = Readonly<Record<string, Value>>;

const HEAD = {
  apiVersion: 'inference.networking.x-k8s.io/v1alpha1',
  kind: 'EndpointPickerConfig',
};

/** Types of both pickers, with parameters that both read. */
const PARAMETERS: Readonly<Record<string, Fields>> = {
  'utilization-detector': {
    queueDepthThreshold: 5,
    kvCacheUtilThreshold: 0.8,
    metricsStalenessThreshold: '200ms',
    headroom: 0.1,
  },
  'concurrency-detector': {
    maxConcurrency: 10,
    headroom: 0.5,
    concurrencyMode: 'tokens',
    maxTokenConcurrency: 1000,
  },
  'static-usage-limit-policy': { threshold: 0.9 },
  'approx-prefix-cache-producer': {
    autoTune: true,
    blockSizeTokens: 64,
    blockSize: 16,
    maxPrefixBlocksToMatch: 128,
    maxPrefixTokensToMatch: 1000,
    lruCapacityPerServer: 1000,
  },
  'token-load-scorer': { queueThresholdTokens: 1000 },
  'max-score-picker': { maxNumOfEndpoints: 2 },
  'random-picker': { maxNumOfEndpoints: 2 },
  'weighted-random-picker': { maxNumOfEndpoints: 2 },
  'latency-scorer': {
    ttftWeight: 0.8,
    tpotWeight: 0.2,
    headroomSelectionStrategy: 'least',
    compositeKVWeight: 1,
    compositeQueueWeight: 1,
    compositePrefixWeight: 1,
  },
  'slo-headroom-tier-filter': { epsilonExploreNeg: 0.01 },
  'prefix-cache-affinity-filter': {
    affinityThreshold: 0.8,
    explorationProbability: 0.01,
    maxTTFTPenaltyMs: 5000,
  },
  'metrics-data-source': { scheme: 'http', path: '/metrics', insecureSkipVerify: true },
  'core-metrics-extractor': {
    engineLabelKey: 'e',
    defaultEngine: 'mine',
    engineConfigs: [
      {
        name: 'mine',
        queuedRequestsSpec: 'a:b',
        runningRequestsSpec: 'a:c',
        kvUsageSpec: 'a:d{x=y}',
        loraSpec: 'a:e',
        cacheInfoSpec: 'a:f',
      },
    ],
  },
  'request-attribute-reporter': {
    attributes: [
      {
        key: { namespace: 'a', name: 'b' },
        expression: 'usage.prompt_tokens',
        condition: 'has(usage.prompt_tokens)',
      },
    ],
  },
  'predicted-latency-producer': {
    samplingMean: 100,
    maxDecodeTokenSamplesForPrediction: 20,
    sloBufferFactor: 1,
    contextTTL: 300_000_000_000,
    streamingMode: true,
    endpointRoleLabel: 'r',
  },
  'k8s-notification-source': { group: 'a', version: 'v1', kind: 'Pod' },
  ...Object.fromEntries(
    [
      'queue-scorer',
      'kv-cache-utilization-scorer',
      'running-requests-size-scorer',
      'lora-affinity-scorer',
      'prefix-cache-scorer',
      'single-profile-handler',
      'fcfs-ordering-policy',
      'edf-ordering-policy',
      'slo-deadline-ordering-policy',
      'round-robin-fairness-policy',
      'global-strict-fairness-policy',
      'inflight-load-producer',
      'latency-slo-admitter',
      'endpoint-notification-source',
      'openai-parser',
      'vllmgrpc-parser',
      'passthrough-parser',
    ].map((type) => [type, {}]),
  ),
};

const plugin = (type: string, name?: string): Fields => ({
  type,
  ...(name !== undefined && { name }),
  parameters: PARAMETERS[type],
});

/** With the sections that name plugins. */
const WITH_SECTIONS: readonly Fields[] = [
  {
    ...HEAD,
    plugins: [
      plugin('queue-scorer'),
      plugin('kv-cache-utilization-scorer', 'kv'),
      plugin('max-score-picker'),
    ],
    schedulingProfiles: [
      {
        name: 'default',
        plugins: [
          { pluginRef: 'queue-scorer', weight: 2 },
          { pluginRef: 'kv', weight: 1.5 },
          { pluginRef: 'max-score-picker' },
        ],
      },
    ],
  },
  {
    ...HEAD,
    featureGates: ['flowControl'],
    plugins: [
      plugin('round-robin-fairness-policy', 'rr'),
      plugin('edf-ordering-policy'),
      plugin('utilization-detector', 'ud'),
    ],
    saturationDetector: { pluginRef: 'ud' },
    flowControl: {
      maxBytes: '10Gi',
      maxRequests: 1000,
      defaultRequestTTL: '60s',
      defaultPriorityBand: { priority: 0, maxBytes: '1Gi', fairnessPolicyRef: 'rr' },
      priorityBands: [
        {
          priority: 10,
          maxBytes: 1000,
          maxRequests: '5',
          fairnessPolicyRef: 'rr',
          orderingPolicyRef: 'edf-ordering-policy',
        },
        { priority: -1 },
      ],
      usageLimitPolicyPluginRef: 'static-usage-limit-policy',
    },
  },
  {
    ...HEAD,
    plugins: [plugin('metrics-data-source'), plugin('core-metrics-extractor')],
    dataLayer: {
      sources: [
        {
          pluginRef: 'metrics-data-source',
          extractors: [{ pluginRef: 'core-metrics-extractor' }],
        },
      ],
    },
    parser: { pluginRef: 'openai-parser' },
  },
  {
    ...HEAD,
    plugins: [plugin('vllmgrpc-parser', 'p')],
    parser: { pluginRef: 'p' },
    featureGates: ['dataLayer'],
  },
];

// Each of the larger ones as often as there are types in four.
const BASES: readonly Fields[] = [
  ...Object.keys(PARAMETERS).map((type) => ({ ...HEAD, plugins: [plugin(type)] })),
  ...Array.from({ length: 8 }, () => WITH_SECTIONS).flat(),
];

const NUMBERS = [0, 1, -1, 0.5, 4.5, 1e3, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1e19, -1e19, 1e-7];
const TEXTS =
  '|a|5|5s|-5s|0|1h-|.5s|3000000h|100ns|default|flowControl|https|tokens|least|queue-scorer|ud|1Gi|-1|1.5|/a|a:b|a{b|a{b=c}|1 +|true| ';
const REPLACEMENTS: readonly Value[] = [
  null,
  true,
  false,
  [],
  [null],
  ['a'],
  [1],
  {},
  { a: 1 },
  [{}],
  [[]],
  ...NUMBERS,
  ...TEXTS.split('|'),
];

/** A configuration that was valid, with one value changed, or two. */
export function drawnConfig(random: Random): Value {
  const base = changed(one(BASES, random), random);
  return random.next() < 0.2 ? changed(base, random) : base;
}

function changed(value: Value, random: Random, isTop = true): Value {
  const keys = keysOf(value);
  const isLeaf = keys.length === 0 || (!isTop && random.next() < 0.08);
  if (isLeaf) return one(REPLACEMENTS, random);
  const key = one(keys, random);
  const chance = random.next();
  const fields = value as Fields;
  // Other versions and kinds are refused at once, and so say little.
  if (isTop && Object.hasOwn(HEAD, key) && random.next() < 0.9) return changed(value, random);
  if (chance < 0.75) return put(fields, key, changed(fields[key], random, false));
  if (chance < 0.83) return without(fields, key);
  if (chance < 0.9) return put(fields, key, null);
  return put(fields, key, one(REPLACEMENTS, random));
}

function keysOf(value: Value): readonly string[] {
  return typeof value === 'object' && value !== null ? Object.keys(value) : [];
}

function put(fields: Fields, key: string, value: Value): Value {
  if (Array.isArray(fields)) return fields.with(Number(key), value);
  return { ...fields, [key]: value };
}

function without(fields: Fields, key: string): Value {
  if (Array.isArray(fields)) return fields.toSpliced(Number(key), 1);
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name !== key));
}

function one<T>(all: readonly T[], random: Random): T {
  return all[Math.floor(random.next() * all.length)] as T;
}
