/**
 * The plugin types of the reference picker, as facts: what each is, and how it reads parameters.
 */

import { PARSER_TYPES } from '../../framework/parser-type.ts';

/** What a plugin of the reference picker is for. */
export type ReferenceRole =
  | 'filter'
  | 'scorer'
  | 'picker'
  | 'profile handler'
  | 'decider'
  | 'producer'
  | 'request headers'
  | 'admission'
  | 'screener'
  | 'response'
  | 'fairness policy'
  | 'ordering policy'
  | 'usage limit policy'
  | 'eviction policy'
  | 'saturation detector'
  | 'data source'
  | 'extractor'
  | 'discovery'
  | 'discovery of replicas'
  | 'sharing of replicas'
  | 'parser';

const BY_ROLE: Readonly<Record<ReferenceRole, readonly string[]>> = {
  filter: [
    'label-selector-filter',
    'by-label-selector',
    'by-label',
    'decode-filter',
    'prefill-filter',
    'encode-filter',
    'context-length-aware',
    'prefix-cache-affinity-filter',
    'slo-headroom-tier-filter',
    'session-affinity-filter',
    'endpoint-attribute-filter',
    'topology-affinity-filter',
    'utilization-filter',
    'header-based-testing-filter',
    'served-model-filter',
    'multicluster-session-affinity-filter',
  ],
  scorer: [
    'queue-scorer',
    'running-requests-size-scorer',
    'kv-cache-utilization-scorer',
    'lora-affinity-scorer',
    'load-aware-scorer',
    'active-request-scorer',
    'token-load-scorer',
    'prefix-cache-scorer',
    'precise-prefix-cache-scorer',
    'no-hit-lru-scorer',
    'latency-scorer',
    'latency-observation-scorer-hub',
    'session-affinity-scorer',
    'header-label-affinity-scorer',
    'endpoint-attribute-scorer',
    'endpoint-attribute-weight-scorer',
    'topology-affinity-scorer',
    'mm-embeddings-cache-scorer',
    'multicluster-queue-scorer',
    'multicluster-kv-cache-utilization-scorer',
    'multicluster-prefix-cache-scorer',
  ],
  picker: ['max-score-picker', 'random-picker', 'weighted-random-picker'],
  'profile handler': [
    'single-profile-handler',
    'disagg-profile-handler',
    'pd-profile-handler',
    'header-profile-handler',
    'data-parallel-profile-handler',
  ],
  decider: [
    'always-disagg-pd-decider',
    'prefix-based-pd-decider',
    'always-disagg-multimodal-decider',
  ],
  producer: [
    'token-producer',
    'tokenizer',
    'approx-prefix-cache-producer',
    'precise-prefix-cache-producer',
    'inflight-load-producer',
    'predicted-latency-producer',
    'session-id-producer',
    'mm-embeddings-cache-producer',
    'burst-prefix-cache-producer',
    'p2p-source-producer',
    'multicluster-approx-prefix-cache-producer',
    'latency-observer-producer-hub',
    'session-state-producer',
    'label-producer',
  ],
  'request headers': [
    'agent-identity',
    'outlen-bucket',
    'disagg-headers-handler',
    'prefill-header-handler',
  ],
  admission: ['latency-slo-admitter', 'probabilistic-admitter'],
  screener: ['disaggregatedset-rollout-screener', 'endpoint-pin-screener'],
  response: [
    'request-attribute-reporter',
    'reserve-endpoint',
    'destination-endpoint-served-verifier',
  ],
  'fairness policy': [
    'global-strict-fairness-policy',
    'round-robin-fairness-policy',
    'program-aware-fairness',
  ],
  'ordering policy': [
    'fcfs-ordering-policy',
    'edf-ordering-policy',
    'slo-deadline-ordering-policy',
  ],
  'usage limit policy': [
    'static-usage-limit-policy',
    'priority-holdback-policy',
    'soft-reflective-ceiling-policy',
  ],
  'eviction policy': ['sheddable-eviction-filter', 'priority-then-time-eviction-order-policy'],
  'saturation detector': [
    'utilization-detector',
    'concurrency-detector',
    'max-saturation-detector',
  ],
  'data source': [
    'metrics-data-source',
    'models-data-source',
    'dcgm-data-source',
    'endpoint-notification-source',
    'k8s-notification-source',
    'multicluster-metrics-data-source',
  ],
  extractor: [
    'core-metrics-extractor',
    'models-data-extractor',
    'dcgm-extractor',
    'topology-extractor',
    'multicluster-metrics-extractor',
  ],
  discovery: ['file-discovery', 'multicluster-file-discovery'],
  'discovery of replicas': ['k8s-peer-discovery'],
  'sharing of replicas': ['redis-syncer', 'redis-state-store', 'local-syncer'],
  parser: PARSER_TYPES,
};

/** Each plugin type of the reference, and what it is for. */
export const REFERENCE_TYPES: ReadonlyMap<string, ReferenceRole> = new Map(
  Object.entries(BY_ROLE).flatMap(([role, types]) =>
    types.map((type) => [type, role as ReferenceRole] as const),
  ),
);

const ENGINE_LOADS = 'the engine, which loads cached blocks as it needs them,';

/**
 * Types of plugins that are in branches of the reference or in pickers made of it, such as Dynamo's,
 * and in no release of it, and what does a similar work here.
 */
export const UNRELEASED_TYPES: ReadonlyMap<string, string> = new Map([
  ['accelerator-capability-aware', 'label-producer with endpoint-attribute-weight-scorer'],
  ['active-request-filter', 'utilization-filter with active-requests'],
  ['buffer-gate-filter', 'label-selector-filter'],
  ['capacity-ledger', 'utilization-detector'],
  ['compatibility-screener', 'disaggregatedset-rollout-screener'],
  ['constant-ceiling-control', 'the default usage limit policy'],
  ['decode-pipeline-pressure-filter', 'utilization-filter'],
  ['diffusion-cost-scorer', 'active-request-scorer'],
  ['diffusion-load-producer', 'inflight-load-producer'],
  ['dp-rank-header-handler', 'data-parallel-profile-handler'],
  ['gw-subset-screener', 'the subset hint, which counts without a plugin,'],
  ['dyn-decode-scorer', 'active-request-scorer'],
  ['dyn-prefill-scorer', 'prefix-cache-scorer'],
  ['dynamo-cleanup', 'the picker itself, which frees what a request holds when its answer ends,'],
  ['dynamo-inject-workerid', 'the destination header, which names the endpoint,'],
  ['header-phase-profile-handler', 'header-profile-handler'],
  ['inflight-load-scorer', 'active-request-scorer'],
  ['input-profile-tracker', 'latency-slo-admitter'],
  ['kv-aware-scorer', 'precise-prefix-cache-scorer'],
  ['kv-cache-hint', 'the default configuration, which follows how long caches last,'],
  ['kv-cache-hint-v2', 'the default configuration, which follows how long caches last,'],
  ['kv-cache-retention', 'the default configuration, which follows how long caches last,'],
  ['kv-cache-source-producer', 'p2p-source-producer'],
  ['label-filter', 'label-selector-filter'],
  ['latency-detector', 'utilization-detector with latency-slo-admitter'],
  ['latency-observation-scorer', 'latency-observation-scorer-hub'],
  ['latency-observer-producer', 'latency-observer-producer-hub'],
  ['load-aware-picker', 'max-score-picker with load-aware-scorer'],
  ['lora-load-state-scorer', 'lora-affinity-scorer'],
  ['lora-residency-filter', 'lora-affinity-scorer'],
  ['metric-scorer', 'endpoint-attribute-scorer'],
  ['modality-filter', 'label-selector-filter in a profile of header-profile-handler'],
  ['model-affinity-filter', 'served-model-filter'],
  ['mrl-scorer-hub', 'latency-observation-scorer-hub'],
  ['multicluster-topology-scorer', 'label-producer with endpoint-attribute-weight-scorer'],
  ['osl-bucket', 'outlen-bucket'],
  ['pd-capacity-admitter', 'probabilistic-admitter'],
  ['prefetch-prerequest-handler', ENGINE_LOADS],
  ['prefill-pin-screener', 'endpoint-pin-screener'],
  ['program-score-ordering-policy', 'agent-identity with program-aware-fairness'],
  ['prometheus-metric', 'core-metrics-extractor with customMetrics'],
  ['selective-kv-policy', ENGINE_LOADS],
  ['session-binding-tracker', 'session-affinity-scorer with the strategy session_id'],
  ['session-control-filter', 'session-affinity-filter with the strategy session_id'],
  ['session-control-scorer', 'session-affinity-scorer with the strategy session_id'],
  ['session-interturn-latency-producer', 'the default configuration'],
  ['session-manager', 'agent-identity with session-affinity-scorer'],
  ['session-prefix-cache-producer', 'approx-prefix-cache-producer'],
  ['sojourn-time-observer-hub', 'latency-observer-producer-hub'],
  ['strict-band-selection-policy', 'flow control, where higher priorities come first,'],
  ['thunder-agent', 'agent-identity with program-aware-fairness'],
  ['topology-stamp-handler', 'disagg-profile-handler with topology-affinity-scorer'],
  ['ttft-aware-scorer', 'latency-observation-scorer-hub'],
  ['weighted-mm-embeddings-cache-producer', 'mm-embeddings-cache-producer'],
  ['weighted-mm-embeddings-cache-scorer', 'mm-embeddings-cache-scorer'],
  ['zmq-metrics-data-source', 'metrics-data-source'],
  ['zmq-state-extractor', 'core-metrics-extractor'],
]);

/** Types whose parameters the reference does not read: whatever is there has no effect. */
export const WITHOUT_PARAMETERS: ReadonlySet<string> = new Set([
  'always-disagg-multimodal-decider',
  'always-disagg-pd-decider',
  'decode-filter',
  'destination-endpoint-served-verifier',
  'edf-ordering-policy',
  'encode-filter',
  'endpoint-notification-source',
  'endpoint-pin-screener',
  'fcfs-ordering-policy',
  'global-strict-fairness-policy',
  'header-based-testing-filter',
  'kv-cache-utilization-scorer',
  'local-syncer',
  'lora-affinity-scorer',
  'prefill-filter',
  'queue-scorer',
  'reserve-endpoint',
  'round-robin-fairness-policy',
  'running-requests-size-scorer',
  'single-profile-handler',
  'slo-deadline-ordering-policy',
  ...BY_ROLE.parser,
]);
