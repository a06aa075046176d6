import type { Endpoint } from '../framework/endpoint.ts';
import { RoutingError } from '../framework/error.ts';
import type { Routed } from '../framework/observer.ts';
import type { Observer, ReplacementReport } from '../framework/plugin.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { RouteOptions, Router } from '../framework/routing.ts';
import type { Runtime } from '../framework/runtime.ts';
import type { Decision, Scheduler } from '../framework/scheduling.ts';
import { CoreSuccession } from './active-cores.ts';
import { EndpointPool } from './endpoint-pool.ts';
import { EngineModel } from './engine-model/engine-model.ts';
import { Ledger } from './ledger.ts';
import type { PluginWrap } from './plan/instantiate.ts';
import type { PickerPlan } from './plan/picker-plan.ts';
import { book } from './reserve.ts';
import { Ticket } from './routed-request.ts';
import { createSchedulingCore, type SchedulingCore } from './scheduling-core.ts';
import { subsetOf } from './subset.ts';

export interface EndpointPickerOptions {
  readonly plan: PickerPlan;
  readonly runtime: Runtime;
  /** Hears of every request and endpoint, beside the plugins: metrics, for one. */
  readonly observers?: readonly Observer[];
  /** What is put around each plugin as it is used: instrumentation. Asked once for each plan. */
  readonly wrapPlugin?: () => PluginWrap;
  /** Put around the whole scheduler, after a plan's plugins. */
  readonly wrapScheduler?: (scheduler: Scheduler) => Scheduler;
  /** For a scheduler in place of the profiles, where `runtime` is not the real world: it may be in another process. */
  readonly schedulerRuntime?: Runtime;
}

/** The decision core, data sources running: pool, ledger, plugins and scheduler made into one synchronous `route`. No sockets. */
export interface EndpointPicker extends Required<Router> {
  readonly pool: EndpointPool;
  readonly ledger: Ledger;
  /** Plugin instances that hear of requests and endpoints, data sources included. */
  observers(): readonly Observer[];
  /**
   * Decides by another plan from the next request on. Endpoints, ledger and requests in flight stay, and so do plugins that have
   * the same name, type and parameters in both plans, with all that they have learned. Throws what the plan's plugins throw
   * when they are made, ConfigError among it, and then nothing has changed.
   */
  adopt(plan: PickerPlan): void;
  /**
   * Beside the plan in charge another decides the requests that it takes, with what both have in common, and hears of all of
   * them; `decidedBy` has its name. Ends with `withdraw`, or when a plan is adopted. Throws as `adopt` does.
   */
  challenge(plan: PickerPlan, challenger: Challenger): void;
  withdraw(): void;
  /** Undefined where the profiles decide. */
  replacement(): ReplacementReport | undefined;
  /** Stops the data sources. Reservations still open can still be ended. */
  stop(): void;
}

export interface Challenger {
  readonly name: string;
  /** Asked about each request before its cycle and in it. */
  readonly takes: (request: InferenceRequest) => boolean;
}

export function createEndpointPicker(options: EndpointPickerOptions): EndpointPicker {
  const { runtime } = options;
  const pool = new EndpointPool();
  const ledger = new Ledger();
  const engineModel = new EngineModel();
  pool.observeEndpoints(ledger);
  pool.observeEndpoints(engineModel);
  const coreFacts = [...ledger.facts, engineModel.fact];
  const createCore = (plan: PickerPlan, before?: SchedulingCore, name?: string): SchedulingCore => {
    const wrapScheduler = name === undefined ? options.wrapScheduler : decidedAs(name, options);
    return createSchedulingCore({ ...options, wrapScheduler, plan, before, pool, coreFacts });
  };
  const { observers = [] } = options;
  const first = createCore(options.plan);
  for (const observer of [...first.observers, ...observers]) pool.observeEndpoints(observer);
  const cores = new CoreSuccession(first, pool, { before: observers, after: [engineModel] });

  return {
    pool,
    ledger,
    observers: () => [...cores.core.observers, ...observers],
    adopt: (plan) => cores.follow(createCore(plan, cores.core)),
    challenge: (plan, { name, takes }) =>
      cores.challenge(createCore(plan, cores.core, name), takes),
    withdraw: () => cores.withdraw(),
    replacement: () => cores.core.replacement(),
    stop: () => cores.stop(),
    prepare(request, body, ready, { subset } = {}) {
      const all = subset === undefined;
      const candidates = () => ({ endpoints: subsetOf(pool.snapshot(), subset), all });
      return cores.prepare(
        request,
        (core, done) => core.prepare(request, body, candidates, done),
        ready,
      );
    },
    route(request, options: RouteOptions = {}) {
      const { subset, firstTokenSeen = false, endSeen = true, decided } = options;
      const now = runtime.clock.now();
      const candidates = subsetOf(pool.snapshot(), subset);
      if (candidates.length === 0) throw noCandidates(pool.snapshot().length, subset);
      const { core, hearers, markers } = cores.reignOver(request);
      const cycle = core.schedule(request, candidates, { now, decided });
      const { result } = cycle;
      const endpoint = primaryOf(result, candidates.length);
      const { prefill, encoders = [] } = result;
      const cachedTokens = cycle.cachedTokens(endpoint);
      const computes = prefill && { endpoint: prefill, cachedTokens: cycle.cachedTokens(prefill) };
      const parts = { request, prefill: computes, encoders, cachedTokens, ledger, engineModel };
      const { load, ttftMs, decodeMs, reservation } = book(endpoint, parts);
      // Of an answer that comes in one piece only the end is seen.
      const seen = firstTokenSeen && request.streaming;
      const timing = { at: now, firstTokenSeen: seen };
      const routed: Routed = { request, endpoint, prefill, cachedTokens, load, ...timing };
      const endsAt = endSeen ? undefined : now + ttftMs + decodeMs;
      const about = { routed, result, reservation, endsAt };
      const ticket = new Ticket({ ...about, pool, runtime, hearers, markers });
      if (!seen) ticket.expectPrefill(ttftMs);
      return ticket;
    },
  };
}

/** Within what is put around every scheduler, so that all of that sees the name. */
function decidedAs(
  name: string,
  { wrapScheduler = (scheduler) => scheduler }: Pick<EndpointPickerOptions, 'wrapScheduler'>,
): (scheduler: Scheduler) => Scheduler {
  return (scheduler) =>
    wrapScheduler({
      schedule(endpoints, context) {
        const result = scheduler.schedule(endpoints, context);
        return { ...result, decidedBy: name };
      },
    });
}

function noCandidates(pooled: number, subset: readonly string[] | undefined): RoutingError {
  const why =
    subset === undefined || pooled === 0
      ? 'the pool has no endpoint'
      : `none of the pool's ${pooled} endpoints is in the subset the proxy allows (${subset.length} entries)`;
  return new RoutingError('no-endpoints', `no endpoint can serve this request: ${why}`);
}

function primaryOf({ primary }: Decision, candidates: number): Endpoint {
  const target = primary.kind === 'picked' ? primary.targets[0]?.endpoint : undefined;
  if (target !== undefined) return target;
  throw new RoutingError(
    'saturated',
    `the filters of profile ${primary.profile} left none of ${candidates} endpoints for this request`,
  );
}
