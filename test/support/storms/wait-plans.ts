import type { Bounds } from './wait-storm.ts';

const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';
const POLICY = `- {type: approx-prefix-cache-producer, parameters: {keepInFlight: true}}
- type: predicted-cost-scorer
`;
const [HIGH, LOW] = [100, -10];

/** Requests wait at the picker, for so long. */
const hold = (maxWaitMs: number): Bounds => ({
  config: `${HEAD}plugins:\n${POLICY}hold: {enabled: true, maxWaitMs: ${maxWaitMs}}\n`,
  boundMs: () => maxWaitMs,
});

interface Times {
  readonly usualMs: number;
  /** For two other priorities. */
  readonly highMs: number;
  readonly lowMs: number;
  readonly fairness: string;
  readonly ordering: string;
}

/** Requests wait in flow control, for as long as their priority and their clients say. */
function flow({ usualMs, highMs, lowMs, fairness, ordering }: Times): Bounds {
  const policies = `fairnessPolicyRef: ${fairness}, orderingPolicyRef: ${ordering}`;
  return {
    config: `${HEAD}featureGates: [flowControl]
plugins:
${POLICY}- {type: concurrency-detector, parameters: {maxConcurrency: 3}}
- {type: ${fairness}}
- {type: ${ordering}}
flowControl:
  defaultRequestTTL: ${usualMs}ms
  enableEviction: true
  saturationDetector: {pluginRef: concurrency-detector}
  defaultPriorityBand: {${policies}}
  priorityBands:
  - {priority: ${HIGH}, defaultRequestTTL: ${highMs}ms, ${policies}}
  - {priority: ${LOW}, defaultRequestTTL: ${lowMs}ms, ${policies}}
`,
    boundMs: (priority, ownMs = Number.POSITIVE_INFINITY) => {
      const bandMs = priority === HIGH ? highMs : priority === LOW ? lowMs : usualMs;
      return Math.min(bandMs, ownMs);
    },
  };
}

/** Every way of waiting, with short and long times in each band. */
export const WAIT_PLANS: Readonly<Record<string, Bounds>> = {
  'hold for 3 s': hold(3000),
  'hold for 1 ms': hold(1),
  'flow control, long for high priorities': flow({
    usualMs: 4000,
    highMs: 8000,
    lowMs: 100,
    fairness: 'round-robin-fairness-policy',
    ordering: 'edf-ordering-policy',
  }),
  'flow control, long for low priorities': flow({
    usualMs: 300,
    highMs: 2000,
    lowMs: 5000,
    fairness: 'program-aware-fairness',
    ordering: 'slo-deadline-ordering-policy',
  }),
  'flow control, short for both': flow({
    usualMs: 2000,
    highMs: 50,
    lowMs: 1,
    fairness: 'weighted-fair-queueing-policy',
    ordering: 'fcfs-ordering-policy',
  }),
};

/** Requests that wait are placed a few at a time; none waits from then on. */
const none: Bounds = {
  config: `${HEAD}plugins:\n${POLICY}`,
  boundMs: () => 0,
  placesWithinMs: 1000,
};

/** Configurations that take turns while requests wait at the picker. */
export const RELOADED: readonly Bounds[] = [hold(3000), hold(200), hold(10_000), none];
