import {
  PRECISE_PREFIX_PRODUCER,
  type PrefixMatch,
  prefixMatchKey,
} from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { OutputEstimate } from '../../framework/output-estimate.ts';
import type { CycleFact } from '../../framework/plugin.ts';
import type {
  Candidates,
  ReplacementReport,
  ReplacementScheduler,
} from '../../framework/replacement.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Clock, Millis, Runtime } from '../../framework/runtime.ts';
import type { CycleKey, Scheduler, SchedulingContext } from '../../framework/scheduling.ts';
import { guardedRuntime } from '../faults/guarded-runtime.ts';
import type { PluginFaults } from '../faults/plugin-faults.ts';
import type { PluginInstances } from '../plan/create-plugins.ts';
import {
  instantiate,
  type PluginPart,
  type PluginParts,
  type PluginWrap,
} from '../plan/instantiate.ts';
import type { PickerPlan, PlannedScheduler } from '../plan/picker-plan.ts';
import { sameParameters } from '../plan/same-parameters.ts';
import type { EndpointPool } from '../pool/endpoint-pool.ts';
import { cacheGate } from '../scheduling/conditional-decode.ts';
import { createContext } from '../scheduling/context.ts';
import { controlledScheduler } from '../scheduling/controlled-scheduler.ts';
import { type ReplacedScheduler, replacedScheduler } from '../scheduling/replacement-scheduler.ts';
import { createScheduler } from '../scheduling/schedule.ts';
import { shedding } from '../scheduling/shedding.ts';
import { type Preparation, waitForAll } from './preparation.ts';

export interface SchedulingCoreOptions {
  readonly plan: PickerPlan;
  readonly pool: EndpointPool;
  readonly runtime: Runtime;
  /** Passed on to data sources as `DataSourceHost.timers`. */
  readonly timers?: Clock | undefined;
  readonly coreFacts: readonly CycleFact<unknown>[];
  readonly faults: PluginFaults;
  readonly wrapPlugin?: PluginWrap | undefined;
  readonly schedulerRuntime?: Runtime | undefined;
  /**
   * The core that this one replaces. Its plugins that the new plan has with the same name, type and
   * parameters are used again.
   */
  readonly before?: SchedulingCore | undefined;
  /** Throws where these plugin instances must not decide. Then the new instances are stopped. */
  readonly checkPlugins?: ((plugins: readonly PluginPart[]) => void) | undefined;
}

/** The running plugins of a plan. It decides with the pool and the ledger of its picker. */
export interface SchedulingCore {
  /** All plugin instances, data sources included. The owner of the core stops them. */
  readonly observers: readonly PluginPart[];
  /** The plugins by name; the core that replaces this one uses some of them again. */
  readonly instances: PluginInstances;
  /** The replacement that the plan names, for the core that replaces this one. */
  readonly replacedBy: Replacement | undefined;
  readonly scheduler: Scheduler;
  contextOf(
    request: InferenceRequest,
    endpoints: readonly Endpoint[],
    now: Millis,
  ): SchedulingContext;
  /** Prompt tokens that the endpoint is expected to hold; 0 without a context. */
  cachedTokens(endpoint: Endpoint, context: SchedulingContext | undefined): number;
  /** The plugin that says so; undefined where none does. */
  readonly prefixSource: PrefixSource | undefined;
  /** See `Router.prepare`; undefined where no plugin ever prepares anything. */
  readonly prepare:
    | ((
        request: InferenceRequest,
        body: readonly Uint8Array[],
        candidates: () => Candidates,
        ready: () => void,
      ) => boolean)
    | undefined;
  /** Estimates how many tokens an answer will have; undefined where answers do not count. */
  readonly outputEstimate: OutputEstimate | undefined;
  /** Undefined where the profiles decide. */
  replacement(): ReplacementReport | undefined;
}

export interface PrefixSource {
  readonly name: string;
  readonly type: string;
}

/** A scheduler in place of the profiles. */
interface Replacement {
  readonly planned: PlannedScheduler;
  readonly scheduler: ReplacementScheduler;
}

/** Throws ConfigError when the plan's handler cannot run its profiles. */
export function createSchedulingCore(options: SchedulingCoreOptions): SchedulingCore {
  const { runtime, faults } = options;
  const replacedBy = replacementOf(options);
  const replacement = replacedBy?.scheduler;
  const parts = partsOf(options, () => {
    if (replacedBy !== options.before?.replacedBy) replacement?.stop?.();
  });
  const shed = options.plan.shedding && shedding(options.plan.shedding);
  const matchKey = bestPrefixMatch(parts.facts, options.plan);
  const cachedTokens = cachedTokensBy(matchKey);
  const gate = cacheGate(parts.instances, cachedTokens);
  const profiles = createScheduler(parts.handler, faults, { shed, gate });
  const replaced = replacedBy && replacedProfiles(replacedBy, profiles, options);
  const observers = [...parts.observers, ...(replacement === undefined ? [] : [replacement])];
  checkObservers(observers, options);
  return {
    observers,
    instances: parts.instances,
    replacedBy,
    scheduler: controlledScheduler(replaced ?? profiles, parts.sources, faults),
    contextOf(request, endpoints, now) {
      const random = runtime.random.fork(request.id);
      return createContext({ request, now, random }, endpoints, parts.facts);
    },
    cachedTokens,
    prefixSource: matchKey && prefixSourceOf(matchKey, options.plan),
    outputEstimate: options.plan.outputEstimate,
    prepare: prepareOf(parts, { ...options, replacement }),
    replacement: () => replaced && replacedBy && reportOf(replaced, replacedBy),
  };
}

function checkObservers(
  observers: readonly PluginPart[],
  { checkPlugins, before }: SchedulingCoreOptions,
): void {
  try {
    checkPlugins?.(observers);
  } catch (error) {
    const kept = new Set(before?.observers);
    for (const part of observers) if (!kept.has(part)) part.stop?.();
    throw error;
  }
}

function prefixSourceOf(
  matchKey: CycleKey<PrefixMatch>,
  { plugins }: PickerPlan,
): PrefixSource | undefined {
  const found = plugins.find(({ name }) => prefixMatchKey(name).name === matchKey.name);
  return found && { name: found.name, type: found.definition.type };
}

function cachedTokensBy(
  matchKey: CycleKey<PrefixMatch> | undefined,
): SchedulingCore['cachedTokens'] {
  return (endpoint, context) => {
    if (matchKey === undefined || context === undefined) return 0;
    try {
      const match = context.get(matchKey);
      const cached = match.matchedBlocks(endpoint) * match.blockTokens;
      // The comparison is false for NaN, which must not enter the ledger.
      return cached > 0 ? Math.min(context.request.promptTokens, cached) : 0;
    } catch {
      // The guard of the plugin that computes the fact has reported the error already.
      return 0;
    }
  };
}

function partsOf(options: SchedulingCoreOptions, onFailed: () => void): PluginParts {
  const { plan, pool, runtime, timers, coreFacts, faults, before, wrapPlugin } = options;
  try {
    const kept = before?.instances;
    return instantiate(plan, {
      pool,
      runtime,
      timers,
      coreFacts,
      faults,
      kept,
      ...(wrapPlugin && { wrap: wrapPlugin }),
    });
  } catch (error) {
    onFailed();
    throw error;
  }
}

function replacementOf({
  plan: { scheduler: planned },
  runtime,
  schedulerRuntime = runtime,
  faults,
  before,
}: SchedulingCoreOptions): Replacement | undefined {
  if (planned === undefined) return undefined;
  const known = before?.replacedBy;
  const same =
    known?.planned.definition.type === planned.definition.type &&
    sameParameters(known.planned.config, planned.config);
  if (same) return known;
  const part = { kind: 'scheduler', name: planned.definition.type };
  const guarded = guardedRuntime(schedulerRuntime, part, faults);
  const host = { runtime: guarded, now: () => runtime.clock.now() };
  const scheduler = planned.definition.create(planned.config, host);
  faults.identify(scheduler, part);
  return { planned, scheduler };
}

function replacedProfiles(
  { scheduler, planned }: Replacement,
  profiles: Scheduler,
  { faults, plan }: SchedulingCoreOptions,
): ReplacedScheduler {
  const { type } = planned.definition;
  return replacedScheduler(scheduler, profiles, {
    type,
    faults,
    targetsMax: plan.scheduler?.targetsMax,
  });
}

function reportOf(
  { decided, declined }: ReplacedScheduler,
  { scheduler, planned }: Replacement,
): ReplacementReport {
  const { type } = planned.definition;
  return { name: type, ...scheduler.status?.(), decided, declined };
}

function prepareOf(
  { preparers }: PluginParts,
  {
    replacement,
    faults,
    runtime,
    schedulerRuntime = runtime,
  }: SchedulingCoreOptions & {
    readonly replacement: ReplacementScheduler | undefined;
  },
): SchedulingCore['prepare'] {
  const prepare = replacement?.prepare?.bind(replacement);
  if (preparers.length === 0 && prepare === undefined) return undefined;
  return (request, body, candidates, ready) => {
    // Data sources read what they need from the body.
    const sources = body.length === 0 ? [] : preparers;
    const preparations: Preparation[] = sources.map(({ source, stopwatch }) => ({
      part: source,
      begin: (done) => source.prepare(request, body, done),
      stopwatch,
    }));
    if (replacement !== undefined && prepare !== undefined) {
      const begin: Preparation['begin'] = (done) => prepare(request, candidates(), done);
      preparations.push({ part: replacement, begin });
    }
    return waitForAll(preparations, ready, { faults, clock: schedulerRuntime.clock });
  };
}

/**
 * The index that the configuration names for this, where a plugin provides it; otherwise what
 * engines report themselves; otherwise what the picker expects them to hold.
 */
function bestPrefixMatch(
  facts: PluginParts['facts'],
  { inFlightMatch: named }: PickerPlan,
): CycleKey<PrefixMatch> | undefined {
  const known = [prefixMatchKey(PRECISE_PREFIX_PRODUCER), prefixMatchKey()];
  const keys = named === undefined ? known : [prefixMatchKey(named), ...known];
  return keys.find(({ name }) => facts.has(name));
}
