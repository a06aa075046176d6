/** The reference picker's built-in configuration, written out. */
const REFERENCE_DEFAULT = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: queue-scorer
- type: kv-cache-utilization-scorer
- type: prefix-cache-scorer
- type: metrics-data-source
- type: core-metrics-extractor
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 2}
  - {pluginRef: prefix-cache-scorer, weight: 3}
`;

/** The configuration used when none is given. Nothing in it needs tuning. */
export const DEFAULT_CONFIG: string = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: approx-prefix-cache-producer
  parameters: {keepInFlight: true}
- type: decode-filter
- type: predicted-cost-scorer
schedulingProfiles:
- name: default
  plugins:
  - pluginRef: decode-filter
  - pluginRef: predicted-cost-scorer
hold: {enabled: true}
`;

/** What reading `DEFAULT_CONFIG` gives, so that the usual start reads no YAML. */
export function defaultConfig(): unknown {
  const plugins = ['decode-filter', 'predicted-cost-scorer'];
  return {
    apiVersion: 'llm-d.ai/v1alpha1',
    kind: 'EndpointPickerConfig',
    plugins: [
      { type: 'approx-prefix-cache-producer', parameters: { keepInFlight: true } },
      ...plugins.map((type) => ({ type })),
    ],
    schedulingProfiles: [{ name: 'default', plugins: plugins.map((pluginRef) => ({ pluginRef })) }],
    hold: { enabled: true },
  };
}

function oneScorer(type: string): string {
  return `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: ${type}
`;
}

/** A policy that is not the reference's knows of prompts what the default policy knows. */
function oneCacheAwareScorer(type: string): string {
  return `${oneScorer(type)}- type: approx-prefix-cache-producer
  parameters: {keepInFlight: true}
`;
}

/** The reference's sticky-until-saturated guide, with the prefill speed of an 8 B model. */
const STICKY = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: prefix-cache-affinity-filter
  parameters: {peakPrefillThroughput: 25000, maxTTFTPenaltyMs: 2000}
- type: token-load-scorer
- type: active-request-scorer
schedulingProfiles:
- name: default
  plugins:
  - pluginRef: prefix-cache-affinity-filter
  - {pluginRef: token-load-scorer, weight: 1000}
  - {pluginRef: active-request-scorer, weight: 0.001}
`;

/** Configurations by the names that are accepted in place of a file's path. */
export const NAMED_CONFIGS: ReadonlyMap<string, string> = new Map([
  ['default', DEFAULT_CONFIG],
  ['reference-default', REFERENCE_DEFAULT],
  ['round-robin', oneScorer('round-robin-scorer')],
  ['random', oneScorer('random-picker')],
  ['least-request', oneScorer('active-request-scorer')],
  ['least-queue', oneScorer('queue-scorer')],
  ['least-kv', oneScorer('kv-cache-utilization-scorer')],
  ['power-of-two', oneScorer('power-of-two-scorer')],
  ['consistent-hash', oneScorer('consistent-hash-scorer')],
  ['rendezvous', oneScorer('rendezvous-scorer')],
  ['sticky', STICKY],
  ['token-load', oneScorer('token-load-scorer')],
  ['lmetric', oneCacheAwareScorer('lmetric-scorer')],
  ['dynamo', oneCacheAwareScorer('dynamo-cost-scorer')],
  ['preble', oneCacheAwareScorer('preble-scorer')],
  ['dual-map', oneCacheAwareScorer('dual-map-scorer')],
  ['virtual-tokens', oneScorer('virtual-tokens-scorer')],
]);
