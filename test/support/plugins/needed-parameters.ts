import type { Schema } from '../../../src/framework/plugin.ts';

/**
 * Parameters of the plugin types that cannot be made without any. A new type that can needs nothing
 * here: tests that run against every plugin of the catalogue find it there.
 */
const NEEDED: Readonly<Record<string, object>> = {
  'assignment-informer': { classes: [{ name: 'short', maxPromptTokens: 300 }, { name: 'long' }] },
  'by-label': { label: 'llm-d.ai/role', validValues: ['decode', 'both'] },
  'disaggregatedset-rollout-screener': {
    scope: { labelSelector: 'set' },
    revisionGating: { mode: 'sum', requiredRoles: ['decode'] },
  },
  'endpoint-attribute-filter': {
    attribute: 'KVCacheUsagePercent',
    algorithm: { type: 'threshold', threshold: { operator: 'LessThan', value: 0.8 } },
  },
  'endpoint-attribute-scorer': {
    attributeKey: 'KVCacheUsagePercent',
    algorithm: { type: 'linear_lower_is_better' },
  },
  'endpoint-attribute-weight-scorer': {
    attributeKey: 'gpu',
    producer: 'l',
    weights: { h200: 2 },
  },
  'header-label-affinity-scorer': { headerName: 'x-role', labelKey: 'llm-d.ai/role' },
  'k8s-notification-source': { group: 'apps', version: 'v1', kind: 'Deployment' },
  'k8s-peer-discovery': { selector: 'app=epp', port: '9010', namespace: 'inference' },
  'label-producer': { label: 'gpu', attributeKey: 'gpu' },
  'label-selector-filter': {
    matchExpressions: [{ key: 'llm-d.ai/role', operator: 'In', values: ['decode', 'both'] }],
  },
  'max-saturation-detector': { detectors: ['utilization-detector'] },
  'priority-holdback-policy': { minCeiling: 0.5 },
  remote: { address: '127.0.0.1:9100' },
  'request-attribute-reporter': {
    attributes: [{ key: { name: 'cost' }, expression: 'usage.total_tokens' }],
  },
  'role-minimum-filter': { minReady: { decode: 1 } },
  'utilization-filter': { conditions: [{ metric: 'waiting-queue', maxValue: 20 }] },
};

/** What a type is made with in tests: nothing where it needs nothing. */
export function neededParameters(type: string): object {
  return NEEDED[type] ?? {};
}

/** The configuration that a type makes of its `neededParameters`. */
export function neededConfig<Config>({
  type,
  config,
}: {
  readonly type: string;
  readonly config: Schema<Config>;
}): Config {
  try {
    return config.parse(neededParameters(type));
  } catch (error) {
    const place = 'NEEDED of test/support/plugins/needed-parameters.ts';
    throw new Error(`${type} cannot be made with what ${place} has for it: add its parameters`, {
      cause: error,
    });
  }
}
