import { SESSION_ID_ATTRIBUTE } from '../../../src/framework/cycle-facts.ts';

/** A configuration in which a plugin, or a section, with these parameters has something to do. */
export type Surroundings = (parameters: object) => object;

interface Plugin {
  readonly type: string;
  readonly name?: string;
  readonly parameters?: object;
}

const refs = (names: readonly string[]): object[] => names.map((pluginRef) => ({ pluginRef }));
const profile = (name: string, ...names: readonly string[]): object => ({
  name,
  plugins: refs(names),
});
const scorer = (type: string, parameters: object = {}): Plugin => ({ type, parameters });
const LOAD = scorer('token-load-scorer', { queueThresholdTokens: 3000 });

/** One profile with these scorers and filters, beside the plugins that are outside it. */
function profiled(outside: readonly Plugin[], inside: readonly Plugin[] = [LOAD]): object {
  return {
    plugins: [...outside, ...inside],
    schedulingProfiles: [profile('default', ...inside.map(({ name, type }) => name ?? type))],
  };
}

/** A producer of matches, whose finds a scorer and the loads go by. */
const matches =
  (type: string): Surroundings =>
  (parameters) => {
    const prefixMatchInfoProducerName = type;
    const scores = scorer('prefix-cache-scorer', { prefixMatchInfoProducerName });
    const loads = { type: 'inflight-load-producer', parameters: { prefixMatchInfoProducerName } };
    return profiled([{ type, parameters }, loads], [scores, LOAD]);
  };

/** Another index than the one that plugins read by default: it forgets soon. */
const SECOND_INDEX: Plugin = {
  type: 'approx-prefix-cache-producer',
  name: 'second-index',
  parameters: { autoTune: false, lruCapacityPerServer: 3 },
};
/** A second source of a type, which finds other values. */
const second = (type: string, path = '/other'): Plugin => ({
  type,
  name: 'second-source',
  parameters: { path, order: 1 },
});

const QUEUES = [LOAD, scorer('queue-scorer'), scorer('kv-cache-utilization-scorer')];
const SCRAPED = [
  ...QUEUES,
  scorer('running-requests-size-scorer'),
  scorer('lora-affinity-scorer'),
  scorer('prefix-cache-scorer'),
];
const attribute = (attributeKey: string): Plugin =>
  scorer('endpoint-attribute-scorer', {
    attributeKey,
    algorithm: { type: 'linear_lower_is_better' },
  });

/** A source of pages, and the scorers that go by what these say. */
const scraped =
  (type: string, others: readonly Plugin[], ...inside: readonly Plugin[]): Surroundings =>
  (parameters) =>
    profiled([{ type, parameters }, ...others], inside);

const FULL = { type: 'concurrency-detector', parameters: { maxConcurrency: 1 } };
const FLOW = {
  featureGates: ['flowControl'],
  flowControl: { saturationDetector: { pluginRef: FULL.type } },
};
/** Flow control over a pool that is soon full, with more in `flowControl`. */
function controlled(outside: readonly Plugin[], flowControl: object): object {
  const all = { ...FLOW.flowControl, ...flowControl };
  return { ...profiled([FULL, ...outside]), ...FLOW, flowControl: all };
}
const fairness =
  (type: string): Surroundings =>
  (parameters) =>
    controlled([{ type, parameters }], {
      defaultPriorityBand: { fairnessPolicyRef: type },
      priorityBands: [{ priority: 0, fairnessPolicyRef: type }],
    });
const usageLimit =
  (type: string): Surroundings =>
  (parameters) =>
    controlled([{ type, parameters }], {
      priorityBands: [{ priority: -1 }, { priority: 5 }],
      usageLimitPolicyPluginRef: type,
    });
const detector =
  (type: string): Surroundings =>
  (parameters) => ({
    ...controlled([{ type, parameters }], { saturationDetector: { pluginRef: type } }),
  });

const DECIDERS: readonly Plugin[] = [
  { type: 'always-disagg-pd-decider' },
  { type: 'always-disagg-multimodal-decider' },
  { type: 'prefix-based-pd-decider', parameters: { nonCachedTokens: 300 } },
];
const ROLES = ['decode-filter', 'prefill-filter', 'encode-filter'].map((type) => ({ type }));
const NOBODY = {
  type: 'by-label',
  name: 'nobody-filter',
  parameters: { label: 'llm-d.ai/role', validValues: ['nobody'] },
};
const STAGES = [
  profile('decode', 'decode-filter', LOAD.type),
  profile('prefill', 'prefill-filter', LOAD.type),
  profile('encode', 'encode-filter', LOAD.type),
  profile('other', 'prefix-cache-scorer'),
  profile('nobody', NOBODY.name),
];
/** Profiles for each stage, and further ones that parameters may name. */
function staged(handler: Plugin, outside: readonly Plugin[] = DECIDERS): object {
  const scores = [LOAD, scorer('prefix-cache-scorer')];
  return {
    plugins: [handler, ...outside, ...ROLES, NOBODY, ...scores],
    schedulingProfiles: STAGES,
  };
}
const DISAGG = 'disagg-profile-handler';
const deciders = {
  prefill: 'prefix-based-pd-decider',
  encode: 'always-disagg-multimodal-decider',
};
const decider =
  (type: string): Surroundings =>
  (parameters) =>
    staged({ type: DISAGG, parameters: { deciders: { prefill: type } } }, [
      { type, parameters },
      SECOND_INDEX,
    ]);

const tokens =
  (type: string): Surroundings =>
  (parameters) => {
    const isAsked = Object.keys(parameters).some((name) => /^(?:vllm|modelServers)$/.test(name));
    return isAsked
      ? {
          ...Object(matches('precise-prefix-cache-producer')({})),
          ...askedBy({ type, parameters }),
        }
      : profiled([{ type, parameters }]);
  };
function askedBy(plugin: Plugin): object {
  const built = matches('precise-prefix-cache-producer')({ speculativeIndexing: true });
  const { plugins } = built as { readonly plugins: readonly Plugin[] };
  return { ...built, plugins: [...plugins, plugin] };
}

const AFFINE = scorer('session-affinity-scorer', {
  strategy: 'session_id',
  sessionIdConfig: {
    sources: [{ attribute: SESSION_ID_ATTRIBUTE, producer: 'session-id-producer' }],
  },
});
const ASSIGNED = ['assignment-filter', 'assignment-scorer'].map((type) => ({ type }));
const METRICS = { type: 'metrics-data-source' };

/** By type, and by section, what it needs around it. */
const SURROUNDINGS: Readonly<Record<string, Surroundings>> = {
  hold: (hold) => ({ ...profiled([]), capacity: { maxConcurrency: 1 }, hold }),
  ejection: (ejection) => ({ ...profiled([]), ejection }),
  capacity: (capacity) => ({ ...profiled([]), capacity }),
  flowControl: (flowControl) =>
    controlled(
      [
        'round-robin-fairness-policy',
        'slo-deadline-ordering-policy',
        'soft-reflective-ceiling-policy',
        'utilization-detector',
      ].map((type) => ({ type })),
      flowControl,
    ),
  'data-parallel-profile-handler': (parameters) =>
    profiled([{ type: 'data-parallel-profile-handler', parameters }]),
  [DISAGG]: (parameters) => staged({ type: DISAGG, parameters }),
  'header-profile-handler': (parameters) => staged({ type: 'header-profile-handler', parameters }),
  'pd-profile-handler': (parameters) => staged({ type: 'pd-profile-handler', parameters }),
  'cost-pd-decider': decider('cost-pd-decider'),
  'prefix-based-pd-decider': decider('prefix-based-pd-decider'),
  'approx-prefix-cache-producer': matches('approx-prefix-cache-producer'),
  'multicluster-approx-prefix-cache-producer': matches('multicluster-approx-prefix-cache-producer'),
  'burst-prefix-cache-producer': matches('burst-prefix-cache-producer'),
  'precise-prefix-cache-producer': matches('precise-prefix-cache-producer'),
  'assignment-informer': (parameters) =>
    profiled([{ type: 'assignment-informer', parameters }], [...ASSIGNED, LOAD]),
  'backlog-detector': detector('backlog-detector'),
  'max-saturation-detector': detector('max-saturation-detector'),
  'core-metrics-extractor': scraped(
    'core-metrics-extractor',
    [METRICS],
    ...SCRAPED,
    attribute('custom'),
  ),
  'metrics-data-source': scraped(
    'metrics-data-source',
    [second('metrics-data-source')],
    ...SCRAPED,
    attribute('custom'),
  ),
  'dcgm-data-source': scraped(
    'dcgm-data-source',
    [{ type: 'dcgm-extractor' }, second('dcgm-data-source')],
    attribute('GPUUtilization'),
  ),
  'models-data-source': scraped(
    'models-data-source',
    [{ type: 'models-data-extractor' }, second('models-data-source', '/other-models')],
    { type: 'served-model-filter', parameters: { onMissing: 'Fail', fallbackOnEmpty: true } },
    LOAD,
  ),
  'multicluster-metrics-data-source': scraped(
    'multicluster-metrics-data-source',
    [{ type: 'multicluster-metrics-extractor' }, second('multicluster-metrics-data-source')],
    scorer('multicluster-queue-scorer'),
    scorer('multicluster-kv-cache-utilization-scorer'),
  ),
  'multicluster-metrics-extractor': scraped(
    'multicluster-metrics-extractor',
    [{ type: 'multicluster-metrics-data-source' }],
    scorer('multicluster-queue-scorer'),
    scorer('multicluster-kv-cache-utilization-scorer'),
  ),
  'inflight-load-producer': (parameters) =>
    profiled([{ type: 'inflight-load-producer', parameters }, SECOND_INDEX], [LOAD]),
  'label-producer': (parameters) =>
    profiled([{ type: 'label-producer', parameters }], [attribute('gpu')]),
  'latency-observer-producer-hub': (parameters) =>
    profiled(
      [{ type: 'latency-observer-producer-hub', parameters }],
      [scorer('latency-observation-scorer-hub', { explorationRate: 0 })],
    ),
  'mm-embeddings-cache-producer': (parameters) => ({
    ...staged({ type: DISAGG, parameters: { deciders } }, [
      ...DECIDERS,
      { type: 'mm-embeddings-cache-producer', parameters },
    ]),
  }),
  'p2p-source-producer': (parameters) => ({
    ...staged({ type: DISAGG, parameters: { deciders: { prefill: 'always-disagg-pd-decider' } } }, [
      ...DECIDERS,
      SECOND_INDEX,
      { type: 'p2p-source-producer', parameters },
    ]),
  }),
  'agent-identity': (parameters) => controlled([{ type: 'agent-identity', parameters }], {}),
  'program-aware-fairness': fairness('program-aware-fairness'),
  'vtc-fairness-policy': fairness('vtc-fairness-policy'),
  'weighted-fair-queueing-policy': fairness('weighted-fair-queueing-policy'),
  'static-usage-limit-policy': usageLimit('static-usage-limit-policy'),
  'priority-holdback-policy': usageLimit('priority-holdback-policy'),
  'session-id-producer': (parameters) =>
    profiled([{ type: 'session-id-producer', parameters }], [AFFINE, LOAD]),
  'token-producer': tokens('token-producer'),
  tokenizer: tokens('tokenizer'),
  'topology-extractor': (parameters) =>
    profiled(
      [{ type: 'topology-extractor', parameters }],
      [
        scorer('topology-affinity-scorer', {
          own: { host: 'h1', rack: 'k1', block: 'b1', zone: 'z1', region: 'r0' },
        }),
      ],
    ),
};

/** Where nothing is said of a type: one profile, in which a picker is listed. */
export function surroundingsOf(type: string, isPicker = false): Surroundings {
  const plain: Surroundings = (parameters) =>
    isPicker
      ? profiled([], [{ type, parameters }, LOAD])
      : profiled([{ type, parameters }], QUEUES);
  return SURROUNDINGS[type] ?? plain;
}
