import type { Endpoint } from '../framework/endpoint.ts';
import { PRECISE_PREFIX_PRODUCER, type PrefixMatch, prefixMatchKey } from '../framework/keys.ts';
import type {
  Candidates,
  CycleFact,
  ReplacementReport,
  ReplacementScheduler,
} from '../framework/plugin.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { Runtime } from '../framework/runtime.ts';
import type {
  CycleKey,
  Decision,
  ForeignDecision,
  Scheduler,
  SchedulingContext,
} from '../framework/scheduling.ts';
import type { EndpointPool } from './endpoint-pool.ts';
import {
  instantiate,
  type PickerParts,
  type PluginInstances,
  type PluginPart,
  type PluginWrap,
} from './plan/instantiate.ts';
import type { PickerPlan, PlannedScheduler } from './plan/picker-plan.ts';
import { sameParameters } from './plan/same-parameters.ts';
import { createContext } from './scheduling/context.ts';
import { followingScheduler } from './scheduling/following-scheduler.ts';
import { type ReplacedScheduler, replacedScheduler } from './scheduling/replacement-scheduler.ts';
import { createScheduler } from './scheduling/schedule.ts';

export interface SchedulingCoreOptions {
  readonly plan: PickerPlan;
  readonly pool: EndpointPool;
  readonly runtime: Runtime;
  readonly coreFacts: readonly CycleFact<unknown>[];
  readonly wrapPlugin?: (() => PluginWrap) | undefined;
  readonly wrapScheduler?: ((scheduler: Scheduler) => Scheduler) | undefined;
  readonly schedulerRuntime?: Runtime | undefined;
  /** What of it has the same name, type and parameters in this plan serves on. */
  readonly before?: SchedulingCore | undefined;
}

/** One cycle's outcome, and what is thought to be cached of its prompt. */
export interface Cycle {
  readonly result: Decision;
  cachedTokens(endpoint: Endpoint): number;
}

/** A plan made into plugins, data sources running: what decides, without pool and ledger. */
export interface SchedulingCore {
  /** Plugin instances that hear of requests and endpoints, data sources included. Who drops a core stops them. */
  readonly observers: readonly PluginPart[];
  /** For the core that follows. */
  readonly instances: PluginInstances;
  readonly scheduler: ScheduledBy | undefined;
  schedule(
    request: InferenceRequest,
    endpoints: readonly Endpoint[],
    cycle: { readonly now: number; readonly decided?: ForeignDecision | undefined },
  ): Cycle;
  /** As `Router.prepare`. */
  prepare(
    request: InferenceRequest,
    body: readonly Uint8Array[],
    candidates: () => Candidates,
    ready: () => void,
  ): boolean;
  /** Undefined where the profiles decide. */
  replacement(): ReplacementReport | undefined;
}

/** What stands in place of the profiles. */
export interface ScheduledBy {
  readonly planned: PlannedScheduler;
  readonly replacement: ReplacementScheduler;
}

/** Throws ConfigError when the plan's handler cannot run its profiles. */
export function createSchedulingCore(options: SchedulingCoreOptions): SchedulingCore {
  const { runtime } = options;
  const scheduledBy = scheduledByOf(options);
  const replacement = scheduledBy?.replacement;
  const parts = partsOf(options, () => {
    if (scheduledBy !== options.before?.scheduler) replacement?.stop?.();
  });
  const profiles = createScheduler(parts.handler);
  const replaced = replacement && replacedScheduler(replacement, profiles);
  const bare = followingScheduler(replaced ?? profiles);
  const scheduler = options.wrapScheduler?.(bare) ?? bare;
  const cachedIn = cachedTokensBy(bestPrefixMatch(parts.facts));
  return {
    observers: [...parts.observers, ...(replacement === undefined ? [] : [replacement])],
    instances: parts.instances,
    scheduler: scheduledBy,
    schedule(request, endpoints, { now, decided }) {
      const random = runtime.random.fork(request.id);
      const context = createContext({ request, now, random, decided }, endpoints, parts.facts);
      const result = scheduler.schedule(endpoints, context);
      return { result, cachedTokens: (endpoint) => cachedIn(endpoint, context) };
    },
    prepare(request, body, candidates, ready) {
      const asks = replacement?.prepare?.bind(replacement);
      return waitForAll(
        [
          ...sourceWaits(parts, request, body),
          ...(asks === undefined ? [] : [(done: () => void) => asks(request, candidates(), done)]),
        ],
        ready,
      );
    },
    replacement: () => replaced && reportOf(replaced, replacement),
  };
}

function partsOf(options: SchedulingCoreOptions, onFailed: () => void): PickerParts {
  const { plan, pool, runtime, coreFacts, before } = options;
  const wrap = options.wrapPlugin?.();
  try {
    const kept = before?.instances;
    return instantiate(plan, { pool, runtime, coreFacts, kept, ...(wrap && { wrap }) });
  } catch (error) {
    onFailed();
    throw error;
  }
}

function scheduledByOf({
  plan: { scheduler: planned },
  runtime,
  schedulerRuntime = runtime,
  before,
}: SchedulingCoreOptions): ScheduledBy | undefined {
  if (planned === undefined) return undefined;
  const known = before?.scheduler;
  const same =
    known?.planned.definition.type === planned.definition.type &&
    sameParameters(known.planned.config, planned.config);
  if (same) return known;
  const host = { runtime: schedulerRuntime, now: () => runtime.clock.now() };
  return { planned, replacement: planned.definition.create(planned.config, host) };
}

function reportOf(
  { decided, declined }: ReplacedScheduler,
  replacement: ReplacementScheduler | undefined,
): ReplacementReport {
  return { ...replacement?.status?.(), decided, declined };
}

/** Begins to get something ready, and says whether it has to be waited for. */
type Wait = (done: () => void) => boolean;

/** What data sources need of a request they read from its body. */
function sourceWaits(
  { preparers }: PickerParts,
  request: InferenceRequest,
  body: readonly Uint8Array[],
): readonly Wait[] {
  if (body.length === 0) return [];
  return preparers.map((source) => (done) => source.prepare(request, body, done));
}

/** True, and `ready` is called at the last of them, when any of them has to be waited for. */
function waitForAll(waits: readonly Wait[], ready: () => void): boolean {
  let waiting = 0;
  for (const wait of waits) {
    const waited = wait(() => {
      waiting -= 1;
      if (waiting === 0) ready();
    });
    if (waited) waiting += 1;
  }
  return waiting > 0;
}

/** What engines say themselves is believed before what we think they hold. */
function bestPrefixMatch(facts: PickerParts['facts']): CycleKey<PrefixMatch> | undefined {
  const keys = [prefixMatchKey(PRECISE_PREFIX_PRODUCER), prefixMatchKey()];
  return keys.find(({ name }) => facts.has(name));
}

/** How much of a cycle's prompt an endpoint is thought to hold. */
function cachedTokensBy(
  matchKey: CycleKey<PrefixMatch> | undefined,
): (endpoint: Endpoint, context: SchedulingContext) => number {
  if (matchKey === undefined) return () => 0;
  return (endpoint, context) => {
    const match = context.get(matchKey);
    return Math.min(
      context.request.promptTokens,
      match.matchedBlocks(endpoint) * match.blockTokens,
    );
  };
}
