import { z } from 'zod';
import {
  type DataSourceDefinition,
  defineDataSource,
  type Schema,
} from '../../framework/plugin.ts';
import type { Fairness } from './fairness/fairness.ts';
import type { Before } from './fairness/flow.ts';
import { globalStrict } from './fairness/global-strict.ts';
import { leastAttainedService } from './fairness/least-service.ts';
import { roundRobin } from './fairness/round-robin.ts';
import { tokenCounters } from './fairness/token-counters.ts';
import { turnPriority } from './fairness/turn-priority.ts';
import { earliestDeadline, earliestFirstToken, firstCome } from './orderings.ts';
import {
  explicitLimit,
  type HoldbackConfig,
  holdback,
  softReflective,
  staticLimit,
  type UsageLimit,
} from './saturation/usage-limits.ts';

/** The plugin types of flow control: what a configuration may name, and what becomes of it. */

export interface PolicyType<Made> {
  readonly type: string;
  readonly config: Schema<unknown>;
  /** Makes the policy from parameters that the schema has read. */
  create(config: unknown): Made;
}

function policy<Config, Made>(
  type: string,
  config: Schema<Config>,
  create: (config: Config) => Made,
): PolicyType<Made> {
  return { type, config, create: (given) => create(given as Config) };
}

const none = z.strictObject({});

export const orderingPolicies: readonly PolicyType<Before>[] = [
  policy('fcfs-ordering-policy', none, () => firstCome),
  policy('edf-ordering-policy', none, () => earliestDeadline),
  policy('slo-deadline-ordering-policy', none, () => earliestFirstToken),
];

const seconds = z.number().nonnegative();

const programAware = z.lazy(() =>
  z.strictObject({
    strategy: z
      .enum(['', 'las', 'turn-priority'])
      .default('las')
      .transform((strategy) => strategy || 'las'),
    evictionTtlSeconds: seconds.default(3600),
    evictionSweepSeconds: z.number().positive().default(300),
    lasWeightService: z.number().nonnegative().default(0.8),
    lasWeightHeadWait: z.number().nonnegative().default(0.2),
    lasDecayFactor: z.number().positive().max(1).default(1),
    lasHalfLifeSeconds: seconds.default(60),
    turnPriorityTimeWeight: z.number().nonnegative().default(0.05),
    turnPriorityInactivitySeconds: seconds.default(120),
  }),
);

function createProgramAware(config: z.output<typeof programAware>): () => Fairness {
  const programs = {
    idleMs: 1000 * config.evictionTtlSeconds,
    sweepMs: 1000 * config.evictionSweepSeconds,
    halfLifeMs: 1000 * config.lasHalfLifeSeconds,
    perSecond: config.lasDecayFactor,
  };
  const timeWeight = config.turnPriorityTimeWeight;
  const inactivityMs = 1000 * config.turnPriorityInactivitySeconds;
  const { lasWeightService: service, lasWeightHeadWait: headWait } = config;
  return config.strategy === 'las'
    ? () => leastAttainedService(programs, { service, headWait })
    : () => turnPriority(programs, { timeWeight, inactivityMs });
}

const weight = z.number().positive();

const weightedFair = z.lazy(() =>
  z.strictObject({
    /** By fairness id. */
    weights: z.record(z.string(), weight).default({}),
    defaultWeight: weight.default(1),
    inputTokenWeight: weight.default(1),
    outputTokenWeight: weight.default(1),
  }),
);

const tokenCounter = z.strictObject({
  inputTokenWeight: weight.default(1),
  outputTokenWeight: weight.default(3),
});

export const fairnessPolicies: readonly PolicyType<() => Fairness>[] = [
  policy('global-strict-fairness-policy', none, () => globalStrict),
  policy('round-robin-fairness-policy', none, () => roundRobin),
  policy('program-aware-fairness', programAware, createProgramAware),
  // Our additions.
  policy('weighted-fair-queueing-policy', weightedFair, ({ weights, defaultWeight, ...tokens }) => {
    const byId = new Map(Object.entries(weights));
    return () => tokenCounters({ ...tokens, weightOf: (id) => byId.get(id) ?? defaultWeight });
  }),
  policy(
    'vtc-fairness-policy',
    tokenCounter,
    (tokens) => () => tokenCounters({ ...tokens, weightOf: () => 1 }),
  ),
];

const ceiling = z.number().min(0).max(1);

const rangeHoldback = z.lazy(() =>
  z
    .strictObject({
      shape: z.literal('linear').default('linear'),
      domain: z.enum(['rank', 'value']).default('rank'),
      minCeiling: ceiling.lt(1),
      maxCeiling: ceiling.gt(0).default(1),
    })
    .refine(({ minCeiling, maxCeiling }) => minCeiling <= maxCeiling, {
      path: ['minCeiling'],
      message: 'must be at most maxCeiling',
    }),
);

const explicitHoldback = z.lazy(() =>
  z
    .strictObject({
      domain: z.literal('explicit'),
      ceilings: z.record(z.string().regex(/^[+-]?\d+$/, 'must be a priority'), ceiling),
    })
    .refine(({ ceilings }) => isRising(ceilings), {
      path: ['ceilings'],
      message: 'must not fall from a lower priority to a higher one',
    }),
);

/** What `priority-holdback-policy` takes: the one or the other, by its `domain`. */
export const HOLDBACK_SCHEMAS: readonly z.ZodType[] = [rangeHoldback, explicitHoldback];

function isRising(ceilings: Readonly<Record<string, number>>): boolean {
  const sorted = Object.entries(ceilings).toSorted(([a], [b]) => Number(a) - Number(b));
  return sorted.every(([, each], at) => at === 0 || each >= (sorted[at - 1]?.[1] ?? 0));
}

const explicitOrRange: Schema<z.output<typeof rangeHoldback> | z.output<typeof explicitHoldback>> =
  {
    parse: (given) => {
      const { domain } = Object(given) as { readonly domain?: unknown };
      return domain === 'explicit' ? explicitHoldback.parse(given) : rangeHoldback.parse(given);
    },
  };

export const usageLimitPolicies: readonly PolicyType<() => UsageLimit>[] = [
  policy(
    'static-usage-limit-policy',
    // A number below 0 counts as 0, with which no band is served: the reference takes any number.
    z.strictObject({ threshold: z.number().default(1) }),
    ({ threshold }) =>
      () =>
        staticLimit(threshold),
  ),
  policy('priority-holdback-policy', explicitOrRange, (config) => {
    if (config.domain !== 'explicit') return () => holdback(config as HoldbackConfig);
    const entries = Object.entries(config.ceilings);
    const ceilings = new Map(entries.map(([priority, each]) => [Number(priority), each]));
    return () => explicitLimit(ceilings);
  }),
  policy('soft-reflective-ceiling-policy', none, () => softReflective),
];

/** What evicts, and in which order, is always the same: `enableEviction` switches it on. */
const evictionPolicies: readonly PolicyType<undefined>[] = [
  policy('sheddable-eviction-filter', none, () => undefined),
  policy('priority-then-time-eviction-order-policy', none, () => undefined),
];

/** They do nothing by themselves: flow control makes what a configuration's bands name. */
export const policySources: readonly DataSourceDefinition[] = [
  ...orderingPolicies,
  ...fairnessPolicies,
  ...usageLimitPolicies,
  ...evictionPolicies,
].map(({ type, config }) =>
  defineDataSource({ type, config, start: () => ({ stop: () => undefined }) }),
);
