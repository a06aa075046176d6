import { neededParameters } from '../../support/plugins/needed-parameters.ts';

const deciders = {
  prefill: 'prefix-based-pd-decider',
  encode: 'always-disagg-multimodal-decider',
};
const DISAGG = 'disagg-profile-handler';
/** What older releases of the reference write in place of `deciders`. */
const flat = {
  prefillDeciderPluginName: deciders.prefill,
  encodeDeciderPluginName: deciders.encode,
};
const engineConfigs = [
  {
    name: 'vllm',
    queuedRequestsSpec: 'vllm:num_requests_waiting',
    runningRequestsSpec: 'vllm:num_requests_running',
    kvUsageSpec: 'vllm:kv_cache_usage_perc',
    loraSpec: 'vllm:lora_requests_info',
    cacheInfoSpec: 'vllm:cache_config_info',
    customMetrics: [{ attributeKey: 'custom', metricSpec: 'other_metric{a=b}' }],
  },
];
const [ENGINE] = engineConfigs;
const SIZED = {
  ...ENGINE,
  cacheInfoSpec: '',
  cacheBlockSizeSpec: 'block_size',
  cacheNumBlocksSpec: 'num_blocks',
};
const keys = { clientCertPath: 'a.crt', clientKeyPath: 'a.key' };
const pair = { scheme: 'https', ...keys };
const BLOCKS = { autoTune: false };
const NO_BLOCKS = { hostLabel: 'none', rackLabel: 'none', blockLabel: 'none' };
const classes = [
  { name: 'short', maxPromptTokens: 300 },
  { name: 'middle', maxPromptTokens: 600 },
  { name: 'long' },
];
const gated = {
  scope: { labelSelector: 'set' },
  revisionGating: { mode: 'sum', requiredRoles: ['decode', 'prefill'] },
};
const selector = { name: 'rev', headerName: 'x-revision', labelKey: 'revision', mode: 'strict' };

/** What a parameter, or those that begin like it, needs beside it to count. */
const BESIDE: Readonly<Record<string, object>> = {
  capacity: { maxConcurrency: 2 },
  'capacity part': { maxConcurrency: 3, part: { number: 1, of: 2 } },
  'ejection failurePercent': { consecutiveFailures: 1000 },
  'flowControl priorityBands': { priorityBands: [{ priority: 5 }] },
  [DISAGG]: { deciders },
  [`${DISAGG} stageOrder`]: { deciders: { encode: deciders.encode } },
  [`${DISAGG} prefillRequired`]: { deciders, profiles: { prefill: 'nobody' } },
  [`${DISAGG} profiles.fallback`]: { deciders, profiles: { prefill: 'nobody' } },
  [`${DISAGG} decodeProfile`]: flat,
  [`${DISAGG} prefillProfile`]: flat,
  [`${DISAGG} encodeProfile`]: flat,
  [`${DISAGG} deciderPluginName`]: { deciderPluginName: deciders.prefill },
  [`${DISAGG} prefillDeciderPluginName`]: flat,
  [`${DISAGG} encodeDeciderPluginName`]: flat,
  'prefix-based-pd-decider promptTokens': { nonCachedTokens: 1 },
  'prefix-based-pd-decider prefixMatchInfoProducerName': { nonCachedTokens: 300 },
  'approx-prefix-cache-producer blockSizeTokens': BLOCKS,
  'approx-prefix-cache-producer blockSize': BLOCKS,
  'approx-prefix-cache-producer lruCapacityPerServer': BLOCKS,
  'multicluster-approx-prefix-cache-producer blockSizeTokens': BLOCKS,
  'multicluster-approx-prefix-cache-producer blockSize': BLOCKS,
  'multicluster-approx-prefix-cache-producer lruCapacityPerServer': BLOCKS,
  'assignment-informer': { classes },
  'core-metrics-extractor': { engineConfigs },
  'core-metrics-extractor defaultEngine': { engineLabelKey: 'no-such-label' },
  'core-metrics-extractor engineLabelKey': {},
  'core-metrics-extractor engineConfigs.cacheBlockSizeSpec': {
    engineConfigs: [SIZED],
  },
  'core-metrics-extractor engineConfigs.cacheNumBlocksSpec': {
    engineConfigs: [SIZED],
  },
  'metrics-data-source extractors': { extractors: [{ engineConfigs }] },
  'metrics-data-source extractors.engineConfigs.cacheBlockSizeSpec': {
    extractors: [{ engineConfigs: [SIZED] }],
  },
  'metrics-data-source extractors.engineConfigs.cacheNumBlocksSpec': {
    extractors: [{ engineConfigs: [SIZED] }],
  },
  'metrics-data-source extractors.defaultEngine': {
    extractors: [{ engineLabelKey: 'no-such-label' }],
  },
  'metrics-data-source extractors.engineLabelKey': { extractors: [{}] },
  'multicluster-metrics-data-source extractors': { extractors: [{}] },
  'disaggregatedset-rollout-screener': gated,
  'disaggregatedset-rollout-screener headerSelectors': { ...gated, headerSelectors: [selector] },
  'disaggregatedset-rollout-screener headerSelectors.name': {
    ...gated,
    headerSelectors: [{ ...selector, labelKey: 'set' }],
  },
  'disaggregatedset-rollout-screener revisionGating.requireRoles': {
    ...gated,
    revisionGating: { mode: 'sum', requireRoles: { values: ['decode'] } },
  },
  'inflight-load-producer outputRatio': { addEstimatedOutputTokens: true },
  'inflight-load-producer maxEstimatedOutputTokens': { addEstimatedOutputTokens: true },
  'label-producer': { label: 'gpu', attributeKey: 'gpu', valueType: 'number' },
  'label-producer labels': { labels: [{ label: 'gpu', attributeKey: 'gpu', valueType: 'number' }] },
  'latency-observer-producer-hub': { minRequests: 1, maxRequests: 3, intervalDuration: '500ms' },
  'priority-holdback-policy ceilings': { domain: 'explicit', ceilings: { 0: 0.5 } },
  'precise-prefix-cache-producer kvEventsConfig.curve': {
    kvEventsConfig: { curve: { certPath: 'a.key', serverKeyPath: 'b.key' } },
  },
  'precise-prefix-cache-producer indexerConfig.kvCacheBackendConfigs': {
    indexerConfig: { kvCacheBackendConfigs: [{ name: 'gpu', weight: 0.1 }] },
  },
  'token-producer vllm.endpointDiscovery': { vllm: { endpointDiscovery: {} } },
  'token-producer vllm.mmTimeout': { vllm: {} },
  'token-producer vllm.prefillOnly': { vllm: {} },
  'probabilistic-admitter': { power: 1, k: 0.2 },
  'session-id-producer headerName': { headerName: 'x-session-id' },
  'session-id-producer cookieName': { cookieName: 'session' },
  'topology-extractor rackLabel': { hostLabel: 'none', blockLabel: 'none' },
  'topology-extractor rack': { hostLabel: 'none', blockLabel: 'none' },
  'topology-extractor blockLabel': { hostLabel: 'none', rackLabel: 'none' },
  'topology-extractor zoneLabel': NO_BLOCKS,
  'topology-extractor zone': NO_BLOCKS,
  'topology-extractor regionLabel': { ...NO_BLOCKS, zoneLabel: 'none' },
  'topology-extractor region': { ...NO_BLOCKS, zoneLabel: 'none' },
  'weighted-fair-queueing-policy defaultWeight': { weights: { free: 1 } },
  'precise-prefix-cache-producer speculativeTTL': { speculativeIndexing: true },
};
const HTTPS_SOURCES = [
  'dcgm-data-source',
  'metrics-data-source',
  'models-data-source',
  'multicluster-metrics-data-source',
];
const HTTPS_PARAMETERS = /^(?:insecureSkipVerify|caCertPath|client(?:Cert|Key)Path|serverName)$/;

/** The parameters that stand beside one, which is at `path`, in every try. */
export function besideOf(type: string, path: readonly string[]): object {
  const [first = '', last = ''] = path;
  if (type.startsWith('token') && HTTPS_PARAMETERS.test(last)) {
    return { [first]: first === 'vllm' ? { url: 'https://r.example', ...keys } : pair };
  }
  if (HTTPS_SOURCES.includes(type) && HTTPS_PARAMETERS.test(path[0] ?? '')) return pair;
  for (let length = path.length; length >= 0; length--) {
    const at = [type, path.slice(0, length).join('.')].join(' ').trim();
    const beside = BESIDE[at];
    if (beside !== undefined) return beside;
  }
  return neededParameters(type);
}
