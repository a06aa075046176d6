import type { ConfigIssue } from '../../framework/error.ts';

/**
 * What older releases of the reference picker read and the newest refuses, and what to write in its
 * place: a user of an older release finds this rather than an unknown name.
 */

/** The index in a path to an element of a list. */
const INDEX = /\[\d+\]/g;

/** How the message about such a field or parameter begins. */
const UNKNOWN = 'is not a known field';

const OF_PRODUCER = 'list an approx-prefix-cache-producer, and give it there';
const IN_SOURCE = 'list a utilization-detector with it, and name that in saturationDetector';

const PREFIX_OF_SCORER: Readonly<Record<string, string>> = {
  autoTune: OF_PRODUCER,
  blockSize: `${OF_PRODUCER} as blockSizeTokens`,
  blockSizeTokens: OF_PRODUCER,
  hashBlockSize: `${OF_PRODUCER} as blockSizeTokens, in tokens`,
  lruCapacityPerServer: OF_PRODUCER,
  maxPrefixBlocksToMatch: OF_PRODUCER,
  maxModelLen: 'write matchLengthScaleTokens',
  maxPrefixTokensToMatch: OF_PRODUCER,
  prefixLengthWeight: 'write matchLengthWeight',
};
const SESSION: Readonly<Record<string, string>> = {
  headerName: 'write encodedEndpointHeaderConfig.header',
};
const IN_ENGINE =
  'write it in engineConfigs, in an entry with the name of the engine, such as vllm';
const PRECISE: Readonly<Record<string, string>> = {
  'indexerConfig.prefixStoreConfig': 'leave it out',
  'indexerConfig.speculativeIndexing': 'write it beside indexerConfig',
  'indexerConfig.speculativeTTL': 'write it beside indexerConfig',
  'indexerConfig.tokenProcessorConfig': 'write it beside indexerConfig',
};

/** What is said of each parameter, by type and by the path in its parameters. */
const PARAMETERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'approx-prefix-cache-producer': { hashBlockSize: 'write blockSizeTokens, in tokens' },
  'core-metrics-extractor': {
    cacheInfoSpec: IN_ENGINE,
    kvUsageSpec: IN_ENGINE,
    loraSpec: IN_ENGINE,
    queuedRequestsSpec: IN_ENGINE,
    runningRequestsSpec: IN_ENGINE,
  },
  'latency-scorer': {
    affinityGateTau: 'list a prefix-cache-affinity-filter with it as affinityThreshold',
    affinityGateTauGlobal: 'list a prefix-cache-affinity-filter with it as affinityThreshold',
  },
  'pd-profile-handler': {
    threshold:
      'list a prefix-based-pd-decider with nonCachedTokens, and name it in deciderPluginName',
  },
  'precise-prefix-cache-producer': PRECISE,
  'precise-prefix-cache-scorer': PRECISE,
  'prefix-cache-scorer': PREFIX_OF_SCORER,
  'program-aware-fairness': {
    serviceHalfLifeSeconds: 'write lasHalfLifeSeconds',
    weightService: 'write lasWeightService',
    weightServiceHeadWait: 'write lasWeightHeadWait',
  },
  'session-affinity-filter': SESSION,
  'session-affinity-scorer': SESSION,
};

const OF_LENGTHS = 'answers are counted by outputRatio, or with outlen-bucket by what requests say';

const OF_ATTRIBUTES = 'attributes of endpoints count, and no scores that another filter sends';

const OF_ADAPTERS = 'adapters and their number are read from loraSpec';
const OF_SESSIONS = {
  sessionIDProducerName: 'sessionIdConfig.sources says where the id of a session is',
};
const OF_REPORTS = {
  fullReportRepair:
    'events are replayed from the engine where kvEventsConfig.podDiscoveryConfig.replaySocketPort says how',
};
const OF_PEER = {
  peerTopologyHeader: 'near is what another profile picked for the request, or what own says',
};

/** Parameters that only branches and releases after the newest one known here have. */
const LATER_PARAMETERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'approx-prefix-cache-producer': { prefixHashSource: 'blocks are made from the text of prompts' },
  'core-metrics-extractor': {
    'engineConfigs[].loraLoadedSpec': OF_ADAPTERS,
    'engineConfigs[].loraGPULoadedSpec': OF_ADAPTERS,
    'engineConfigs[].loraGPUSlotsSpec': OF_ADAPTERS,
  },
  'endpoint-attribute-scorer': {
    source: OF_ATTRIBUTES,
    metadataNamespace: OF_ATTRIBUTES,
    metadataField: OF_ATTRIBUTES,
  },
  'inflight-load-producer': { outputEstimator: OF_LENGTHS, sketch: OF_LENGTHS },
  'metrics-data-source': { query: 'write it in path, such as /v1/loads?format=prometheus' },
  'precise-prefix-cache-producer': OF_REPORTS,
  'precise-prefix-cache-scorer': OF_REPORTS,
  'session-affinity-filter': OF_SESSIONS,
  'session-affinity-scorer': OF_SESSIONS,
  'topology-affinity-filter': {
    ...OF_PEER,
    loadAllowance: 'endpoints that are near stay however busy they are',
  },
  'topology-affinity-scorer': OF_PEER,
};

const QUEUE_SCORER = 'list queue-scorer';
const PREDICTED = 'list predicted-latency-producer and latency-scorer';

const TYPES: ReadonlyMap<string, string> = new Map([
  ['decision-tree-filter', 'list scorers with weights'],
  ['kvcache-aware-scorer', 'list precise-prefix-cache-producer and prefix-cache-scorer'],
  ['least-kv-cache-filter', 'list kv-cache-utilization-scorer'],
  ['least-queue-filter', QUEUE_SCORER],
  ['lora-affinity-filter', 'list lora-affinity-scorer'],
  ['low-queue-filter', QUEUE_SCORER],
  ['predicted-latency-scorer', PREDICTED],
  ['prefix-aware-scorer', 'list prefix-cache-scorer'],
  ['sglanggrpc-parser', 'list passthrough-parser, which reads no body'],
  ['slo-aware-profile-handler', 'list single-profile-handler, and one profile with latency-scorer'],
  ['slo-aware-routing', PREDICTED],
  ['slo-request-tracker', 'list predicted-latency-producer'],
  ['slo-scorer', PREDICTED],
]);

const FIELDS: ReadonlyMap<string, string> = new Map([
  ['data', 'write dataLayer'],
  ['discovery', 'write dataLayer.discovery'],
  ['saturationDetector.kvCacheUtilThreshold', IN_SOURCE],
  ['saturationDetector.metricsStalenessThreshold', IN_SOURCE],
  ['saturationDetector.queueDepthThreshold', IN_SOURCE],
]);

/** What only later releases have. */
const LATER_FIELDS: ReadonlyMap<string, string> = new Map([
  [
    'flowControl.bandSelectionPolicyPluginRef',
    'requests of the highest priority come first, as by default there',
  ],
  [
    'schedulingProfiles[].fallbackProfile',
    'where all scores of a profile are 0, its picker chooses among equal endpoints',
  ],
]);

/** What `llm-d.ai/v1` moved. */
const MOVED: ReadonlyMap<string, string> = new Map([
  ['dataLayer.crossReplicaPublishTimeout', 'dataLayer.crossReplica.publishTimeout'],
  ['dataLayer.crossReplicaSyncInterval', 'dataLayer.crossReplica.syncInterval'],
  ['dataLayer.crossReplicaSyncerPluginRef', 'dataLayer.crossReplica.syncerPluginRef'],
  ['dataLayer.discovery.pluginRef', 'dataLayer.discovery.endpoints.pluginRef'],
  ['dataLayer.peerDiscovery', 'dataLayer.discovery.peers'],
  ['parser', 'requestHandler.parsers'],
  ['saturationDetector', 'flowControl.saturationDetector'],
]);

const ALWAYS_ON = 'what it switched on always is, so leave it out';

const GATES: ReadonlyMap<string, string> = new Map([
  ['dataLayer', ALWAYS_ON],
  ['dataLayerMetrics', ALWAYS_ON],
  ['enableLegacyMetrics', 'there is one way to read metrics, so leave it out'],
  ['experimentalDatalayer', ALWAYS_ON],
  ['prepareDataPlugins', ALWAYS_ON],
]);

/** What to write in place of a plugin type, as the end of a sentence; undefined for another one. */
export function olderType(type: string): string | undefined {
  return sentence(TYPES.get(type));
}

/** Why a feature gate of older releases has no effect; undefined for another gate. */
export function olderGate(gate: string): string | undefined {
  return GATES.get(gate);
}

/** The issues, with what to write in place of the fields of a configuration. */
export function withOlderFields(issues: readonly ConfigIssue[]): readonly ConfigIssue[] {
  return issues.map((issue) => {
    const moved = MOVED.get(issue.path);
    if (moved !== undefined && issue.message.startsWith(UNKNOWN)) {
      return { ...issue, message: `is not in llm-d.ai/v1; write ${moved}` };
    }
    const later = LATER_FIELDS.get(issue.path.replace(INDEX, '[]'));
    if (later !== undefined) return { ...issue, message: laterText(later) };
    return renamed(issue, FIELDS.get(issue.path));
  });
}

/**
 * The issues of a plugin's parameters, which are at `at`, with what to write in place of older
 * fields, and what happens without later ones.
 */
export function withOlderParameters(
  issues: readonly ConfigIssue[],
  type: string,
  at: string,
): readonly ConfigIssue[] {
  return issues.map((issue) => {
    const path = issue.path.slice(at.length + 1).replace(INDEX, '[]');
    const later = namedIn(LATER_PARAMETERS[type], path);
    if (later === undefined) return renamed(issue, namedIn(PARAMETERS[type], path));
    return { ...issue, message: laterText(later) };
  });
}

/**
 * Every object of JavaScript has a `constructor`: such a field of a configuration is in no list.
 */
function namedIn(
  list: Readonly<Record<string, string>> | undefined,
  path: string,
): string | undefined {
  return list && Object.hasOwn(list, path) ? list[path] : undefined;
}

function laterText(instead: string): string {
  return `is of a later release of the reference picker, and is not here; leave it out: ${instead}`;
}

function renamed(issue: ConfigIssue, instead: string | undefined): ConfigIssue {
  if (!issue.message.startsWith(UNKNOWN)) return issue;
  return { ...issue, message: sentence(instead) ?? issue.message };
}

function sentence(instead: string | undefined): string | undefined {
  return instead && `is of an older release of the reference picker; ${instead}`;
}
