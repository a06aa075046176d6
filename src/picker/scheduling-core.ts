import type { Endpoint } from '../framework/endpoint.ts';
import { PRECISE_PREFIX_PRODUCER, type PrefixMatch, prefixMatchKey } from '../framework/keys.ts';
import type {
  Candidates,
  CycleFact,
  ReplacementReport,
  ReplacementScheduler,
} from '../framework/plugin.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { Millis, Runtime } from '../framework/runtime.ts';
import type { CycleKey, Scheduler, SchedulingContext } from '../framework/scheduling.ts';
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
import { type ReplacedScheduler, replacedScheduler } from './scheduling/replacement-scheduler.ts';
import { createScheduler } from './scheduling/schedule.ts';

export interface SchedulingCoreOptions {
  readonly plan: PickerPlan;
  readonly pool: EndpointPool;
  readonly runtime: Runtime;
  readonly coreFacts: readonly CycleFact<unknown>[];
  readonly wrapPlugin?: PluginWrap | undefined;
  readonly schedulerRuntime?: Runtime | undefined;
  /** Its plugins with the same name, type and parameters in the new plan are used again. */
  readonly before?: SchedulingCore | undefined;
}

/** The running plugins of a plan. It decides with the pool and the ledger of its picker. */
export interface SchedulingCore {
  /** All plugin instances, data sources included. The owner of the core stops them. */
  readonly observers: readonly PluginPart[];
  /** For the core that replaces this one. */
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
  /** As `Router.prepare`; undefined where no plugin ever prepares anything. */
  readonly prepare:
    | ((
        request: InferenceRequest,
        body: readonly Uint8Array[],
        candidates: () => Candidates,
        ready: () => void,
      ) => boolean)
    | undefined;
  /** Undefined where the profiles decide. */
  replacement(): ReplacementReport | undefined;
}

/** A scheduler in place of the profiles. */
interface Replacement {
  readonly planned: PlannedScheduler;
  readonly scheduler: ReplacementScheduler;
}

/** Throws ConfigError when the plan's handler cannot run its profiles. */
export function createSchedulingCore(options: SchedulingCoreOptions): SchedulingCore {
  const { runtime } = options;
  const replacedBy = replacementOf(options);
  const replacement = replacedBy?.scheduler;
  const parts = partsOf(options, () => {
    if (replacedBy !== options.before?.replacedBy) replacement?.stop?.();
  });
  const profiles = createScheduler(parts.handler);
  const replaced = replacement && replacedScheduler(replacement, profiles);
  const matchKey = bestPrefixMatch(parts.facts);
  return {
    observers: [...parts.observers, ...(replacement === undefined ? [] : [replacement])],
    instances: parts.instances,
    replacedBy,
    scheduler: replaced ?? profiles,
    contextOf(request, endpoints, now) {
      const random = runtime.random.fork(request.id);
      return createContext({ request, now, random }, endpoints, parts.facts);
    },
    cachedTokens(endpoint, context) {
      if (matchKey === undefined || context === undefined) return 0;
      const match = context.get(matchKey);
      const cached = match.matchedBlocks(endpoint) * match.blockTokens;
      return Math.min(context.request.promptTokens, cached);
    },
    prepare: prepareOf(parts, replacement),
    replacement: () => replaced && reportOf(replaced, replacement),
  };
}

function partsOf(options: SchedulingCoreOptions, onFailed: () => void): PickerParts {
  const { plan, pool, runtime, coreFacts, before, wrapPlugin } = options;
  try {
    const kept = before?.instances;
    return instantiate(plan, {
      pool,
      runtime,
      coreFacts,
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
  before,
}: SchedulingCoreOptions): Replacement | undefined {
  if (planned === undefined) return undefined;
  const known = before?.replacedBy;
  const same =
    known?.planned.definition.type === planned.definition.type &&
    sameParameters(known.planned.config, planned.config);
  if (same) return known;
  const host = { runtime: schedulerRuntime, now: () => runtime.clock.now() };
  return { planned, scheduler: planned.definition.create(planned.config, host) };
}

function reportOf(
  { decided, declined }: ReplacedScheduler,
  replacement: ReplacementScheduler | undefined,
): ReplacementReport {
  return { ...replacement?.status?.(), decided, declined };
}

/** Begins to prepare something. Returns whether the request has to wait until `done` is called. */
type Preparation = (done: () => void) => boolean;

function prepareOf(
  { preparers }: PickerParts,
  replacement: ReplacementScheduler | undefined,
): SchedulingCore['prepare'] {
  const prepare = replacement?.prepare?.bind(replacement);
  if (preparers.length === 0 && prepare === undefined) return undefined;
  return (request, body, candidates, ready) => {
    // Data sources read what they need from the body.
    const sources = body.length === 0 ? [] : preparers;
    const preparations: Preparation[] = sources.map(
      (source) => (done) => source.prepare(request, body, done),
    );
    if (prepare !== undefined) preparations.push((done) => prepare(request, candidates(), done));
    return waitForAll(preparations, ready);
  };
}

/** Returns whether any of them has to be waited for; then `ready` is called after the last. */
function waitForAll(preparations: readonly Preparation[], ready: () => void): boolean {
  let waiting = 0;
  for (const prepare of preparations) {
    const waits = prepare(() => {
      waiting -= 1;
      if (waiting === 0) ready();
    });
    if (waits) waiting += 1;
  }
  return waiting > 0;
}

/** Prefers what engines report themselves to what the picker expects them to hold. */
function bestPrefixMatch(facts: PickerParts['facts']): CycleKey<PrefixMatch> | undefined {
  const keys = [prefixMatchKey(PRECISE_PREFIX_PRODUCER), prefixMatchKey()];
  return keys.find(({ name }) => facts.has(name));
}
