const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';
const POLICY = `- {type: approx-prefix-cache-producer, parameters: {keepInFlight: true}}
- type: predicted-cost-scorer
- type: moody-source
`;

const hold = (maxWaitMs: number): string =>
  `${HEAD}plugins:\n${POLICY}hold: {enabled: true, maxWaitMs: ${maxWaitMs}}\n`;

interface Policies {
  readonly fairness?: string;
  readonly ordering?: string;
  readonly usage?: string;
  readonly ttl: string;
}

function flow({ fairness, ordering, usage, ttl }: Policies): string {
  const types = [fairness, ordering].flatMap((type) => (type === undefined ? [] : [type]));
  const listed = types.map((type) => `- {type: ${type}}\n`).join('');
  const held = usage === undefined ? '' : `- {type: ${usage}, parameters: {minCeiling: 0.3}}\n`;
  return `${HEAD}featureGates: [flowControl]
plugins:
${POLICY}- {type: concurrency-detector, parameters: {maxConcurrency: 3}}
${listed}${held}flowControl:
  defaultRequestTTL: ${ttl}
  enableEviction: true
  saturationDetector: {pluginRef: concurrency-detector}
  usageLimitPolicyPluginRef: "${usage ?? ''}"
  defaultPriorityBand:
    {fairnessPolicyRef: "${fairness ?? ''}", orderingPolicyRef: "${ordering ?? ''}", maxRequests: 60}
`;
}

/** Few places, and endpoints that are ejected and tried again. */
const bounded = (maxWaitMs: number): string =>
  `${hold(maxWaitMs)}capacity: {maxConcurrency: 4}
ejection: {consecutiveFailures: 2, firstTokenStallMs: 500, silenceMs: 200, backoffMs: 100}
`;

type ClockPlan = 'hold' | 'bounded' | 'fair shares' | 'priorities' | 'both';

/**
 * Configurations that take turns in a storm, by what they have in common: between all of them every
 * way of waiting, and every policy of flow control.
 */
export const CLOCK_PLANS: Readonly<Record<ClockPlan, readonly string[]>> = {
  hold: [hold(20_000), hold(100)],
  bounded: [bounded(20_000), bounded(500)],
  'fair shares': [
    flow({ fairness: 'round-robin-fairness-policy', ordering: 'edf-ordering-policy', ttl: '10s' }),
    flow({
      fairness: 'weighted-fair-queueing-policy',
      ordering: 'slo-deadline-ordering-policy',
      ttl: '100ms',
    }),
  ],
  priorities: [
    flow({ usage: 'priority-holdback-policy', ttl: '100ms' }),
    flow({
      fairness: 'program-aware-fairness',
      ordering: 'edf-ordering-policy',
      usage: 'priority-holdback-policy',
      ttl: '10s',
    }),
  ],
  both: [hold(20_000), flow({ fairness: 'round-robin-fairness-policy', ttl: '50ms' }), hold(100)],
};
