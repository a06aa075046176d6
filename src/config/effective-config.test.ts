import { describe, expect, it } from 'vitest';
import { SERVING_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { NAMED_CONFIGS } from './defaults.ts';
import { loadConfig } from './load.ts';

const catalogue = SERVING_CATALOGUE;
const load = (text: string): PickerPlan => loadConfig({ text, source: 'test', catalogue });
const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';

/** Parameters for types that need some, and for those that read a parameter into something else. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  'endpoint-attribute-filter': [
    '{attribute: KVCacheUsagePercent, algorithm: {type: threshold, threshold: {operator: LessThan, value: 0.8}}}',
  ],
  'endpoint-attribute-scorer': [
    '{attributeKey: KVCacheUsagePercent, algorithm: {type: linear_lower_is_better}}',
  ],
  'endpoint-attribute-weight-scorer': ['{attributeKey: gpu, producer: l, weights: {h200: 2}}'],
  'label-producer': ['{label: gpu, attributeKey: gpu}'],
  'k8s-peer-discovery': ['{selector: app=epp, port: "9010", namespace: inference}'],
  'header-label-affinity-scorer': ['{headerName: X-Role, labelKey: role}'],
  'by-label': ['{label: role, validValues: [decode, both]}'],
  'label-selector-filter': ['{matchExpressions: [{key: role, operator: In, values: [decode]}]}'],
  'role-minimum-filter': ['{minReady: {decode: 1}}'],
  'utilization-filter': ['{conditions: [{metric: waiting-queue, maxValue: 20}]}'],
  'priority-holdback-policy': [
    '{minCeiling: 0.5}',
    '{domain: explicit, ceilings: {"0": 0.5, "10": 1}}',
  ],
  'max-saturation-detector': ['{detectors: [utilization-detector]}'],
  'utilization-detector': ['{}', '{metricsStalenessThreshold: 1m30s}'],
  // Tested beside it: its parameters have defaults in a list, which are written out.
  'request-attribute-reporter': [],
  'disaggregatedset-rollout-screener': [
    '{scope: {labelSelector: set=a}, revisionGating: {mode: sum, requiredRoles: [decode]}}',
  ],
  'session-id-producer': ['{headerName: x-chat}', '{cookieName: chat}'],
  'k8s-notification-source': ['{group: apps, version: v1, kind: Deployment}'],
  'metrics-data-source': ['{}', '{interval: 1s}'],
  'core-metrics-extractor': ['{}', '{engineConfigs: [{name: mine, queuedRequestsSpec: waiting}]}'],
  'assignment-informer': [
    '{classes: [{name: short, maxPromptTokens: 300}, {name: long}]}',
    '{classes: [{name: a, share: 1}, {name: b, share: 2}], mode: shares, reassignInterval: 1m}',
  ],
  'precise-prefix-cache-scorer': ['{}', '{tokenProcessorConfig: {blockSizeTokens: 32}}'],
  'precise-prefix-cache-producer': ['{}', '{speculativeIndexing: true, speculativeTTL: 5s}'],
};
/** Useless without another. */
const TOGETHER: Readonly<Record<string, string>> = {
  'assignment-filter': 'assignment-informer',
  'assignment-scorer': 'assignment-informer',
  'multicluster-kv-cache-utilization-scorer': 'multicluster-metrics-extractor',
  'multicluster-queue-scorer': 'multicluster-metrics-extractor',
};
const types = [
  ...catalogue.scorers,
  ...catalogue.filters,
  ...catalogue.pickers,
  ...catalogue.dataSources,
].map(({ type }) => type);

describe('an effective configuration', () => {
  it.each(types.flatMap((type) => (PARAMETERS[type] ?? ['{}']).map((each) => [type, each])))(
    'is a configuration that gives itself again: %s %s',
    (type, parameters) => {
      const other = TOGETHER[type];
      const beside =
        other === undefined
          ? ''
          : `, {type: ${other}, parameters: ${PARAMETERS[other]?.[0] ?? '{}'}}`;
      const plugins = `plugins: [{type: ${type}, parameters: ${parameters}}${beside}]`;
      const { effective } = load(HEAD + plugins);
      const written = JSON.stringify(effective);
      const again = load(written);
      expect(JSON.stringify(again.effective)).toBe(written);
      expect(again.plugins.map(({ config }) => config)).toEqual(
        load(HEAD + plugins).plugins.map(({ config }) => config),
      );
    },
  );

  it.each([...NAMED_CONFIGS.keys()])('gives itself again: %s', (name) => {
    const written = JSON.stringify(load(NAMED_CONFIGS.get(name) ?? '').effective);
    expect(JSON.stringify(load(written).effective)).toBe(written);
  });
});
