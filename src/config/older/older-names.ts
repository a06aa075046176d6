/** What older releases of the reference picker called what the newest has under another name. */

/** By type, the newest name of that type. */
export const OLDER_TYPE_NAMES: ReadonlyMap<string, string> = new Map([
  ['kv-cache', 'kv-cache-utilization-scorer'],
  ['kv-cache-scorer', 'kv-cache-utilization-scorer'],
  ['latency-admission', 'latency-slo-admitter'],
  ['latency-predictor', 'predicted-latency-producer'],
  ['latency-predictor-producer', 'predicted-latency-producer'],
  ['max-score', 'max-score-picker'],
  ['model-server-protocol-metrics', 'core-metrics-extractor'],
  ['prefix-cache', 'prefix-cache-scorer'],
  ['queue', 'queue-scorer'],
  ['single-profile', 'single-profile-handler'],
]);

/**
 * From a path in the parameters to another; to nothing where it has no effect any more, with what
 * the picker does in its place.
 */
export type Rename = readonly [from: string, to: string | undefined, instead?: string];

const SESSION: readonly Rename[] = [['headerName', 'encodedEndpointHeaderConfig.header']];
const PRECISE: readonly Rename[] = [
  ['indexerConfig.kvBlockIndexConfig.maxPrefixBlocksToMatch', undefined],
  ['indexerConfig.prefixStoreConfig', undefined],
  ['indexerConfig.speculativeIndexing', 'speculativeIndexing'],
  ['indexerConfig.speculativeTTL', 'speculativeTTL'],
  ['indexerConfig.tokenProcessorConfig', 'tokenProcessorConfig'],
];
const PRECISE_SCORER: readonly Rename[] = [
  ...PRECISE,
  [
    'indexerConfig.tokenizersPoolConfig',
    undefined,
    'a token-producer says who tokenizes prompts, and without one the model servers do',
  ],
  [
    'indexerConfig.kvBlockIndexConfig.valkeyConfig',
    undefined,
    'the index is in the memory of the picker, and each replica reads all events',
  ],
];

const RENDERER: readonly Rename[] = [['vllm.http', 'vllm.url']];

/** By type. */
export const OLDER_PARAMETER_NAMES: ReadonlyMap<string, readonly Rename[]> = new Map<
  string,
  readonly Rename[]
>(
  Object.entries({
    'core-metrics-extractor': [['enableMultiEngine', undefined]],
    'mm-embeddings-cache-producer': [
      ['cacheSizeInMB', 'cacheSizeInMBPerServer'],
      ['cacheSize', undefined],
    ],
    'precise-prefix-cache-producer': PRECISE,
    'precise-prefix-cache-scorer': PRECISE_SCORER,
    'prefix-cache-scorer': [
      ['maxModelLen', 'matchLengthScaleTokens'],
      ['prefixLengthWeight', 'matchLengthWeight'],
    ],
    'program-aware-fairness': [
      ['serviceDecayFactor', 'lasDecayFactor'],
      ['serviceHalfLifeSeconds', 'lasHalfLifeSeconds'],
      ['weightService', 'lasWeightService'],
      ['weightServiceHeadWait', 'lasWeightHeadWait'],
    ],
    'session-affinity-filter': SESSION,
    'session-affinity-scorer': SESSION,
    'session-id-producer': [
      ['lruSize', undefined],
      ['ttl', undefined],
    ],
    'token-producer': RENDERER,
    tokenizer: RENDERER,
  }),
);

/** A parameter whose values have other names now, too. */
export interface OlderChoice {
  readonly from: string;
  readonly to: string;
  readonly values: ReadonlyMap<string, string>;
}

/** By type. */
export const OLDER_CHOICES: ReadonlyMap<string, OlderChoice> = new Map<string, OlderChoice>(
  Object.entries({
    'priority-holdback-policy': {
      from: 'strategy',
      to: 'domain',
      values: new Map([
        ['linear-proportional', 'value'],
        ['stepwise-spread', 'rank'],
      ]),
    },
  }),
);

/** Parameters of `prefix-cache-scorer` that are those of its producer now. */
export const INDEX_PARAMETERS: readonly string[] = [
  'autoTune',
  'blockSize',
  'blockSizeTokens',
  'hashBlockSize',
  'lruCapacityPerServer',
  'maxPrefixBlocksToMatch',
  'maxPrefixTokensToMatch',
];

/** Parameters of `core-metrics-extractor` that an entry of its `engineConfigs` has now. */
export const ENGINE_PARAMETERS: readonly string[] = [
  'cacheInfoSpec',
  'kvUsageSpec',
  'loraSpec',
  'queuedRequestsSpec',
  'runningRequestsSpec',
];

/** Fields of `saturationDetector` that are parameters of `utilization-detector` now. */
export const DETECTOR_FIELDS: readonly string[] = [
  'kvCacheUtilThreshold',
  'metricsStalenessThreshold',
  'queueDepthThreshold',
];
