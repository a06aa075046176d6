/** The reference picker's built-in configuration, as it would be written out. */
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

/** What runs when nothing is configured: nothing in it can be tuned, because nothing needs to be. */
const ZERO_KNOB = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: decode-filter
- type: predicted-cost-scorer
schedulingProfiles:
- name: default
  plugins:
  - pluginRef: decode-filter
  - pluginRef: predicted-cost-scorer
`;

function oneScorer(type: string): string {
  return `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: ${type}
`;
}

/** Configurations that go by a name wherever a file's path is asked for. */
export const NAMED_CONFIGS: ReadonlyMap<string, string> = new Map([
  ['default', ZERO_KNOB],
  ['reference-default', REFERENCE_DEFAULT],
  ['round-robin', oneScorer('round-robin-scorer')],
  ['least-request', oneScorer('active-request-scorer')],
  ['random', oneScorer('random-picker')],
]);
