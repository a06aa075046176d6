import { book } from './booking.ts';
import type { PluginWrap } from './config/instantiate.ts';
import type { PickerPlan } from './config/picker-plan.ts';
import { EndpointPool } from './datalayer/endpoint-pool.ts';
import { EngineModel } from './datalayer/engine-model.ts';
import { Ledger } from './datalayer/ledger.ts';
import { subsetOf } from './datalayer/subset.ts';
import type { Endpoint } from './framework/endpoint.ts';
import { RoutingError } from './framework/error.ts';
import type { RequestObserver, Routed } from './framework/observer.ts';
import type { Observer, ReplacementReport } from './framework/plugin.ts';
import type { RouteOptions, Router } from './framework/routing.ts';
import type { Runtime } from './framework/runtime.ts';
import type { Scheduler, SchedulingResult } from './framework/scheduling.ts';
import { createSchedulingCore } from './scheduling-core.ts';
import { Ticket } from './ticket.ts';

export interface EndpointPickerOptions {
  readonly plan: PickerPlan;
  readonly runtime: Runtime;
  /** Hears of every request and endpoint, beside the plugins: metrics, for one. */
  readonly observers?: readonly Observer[];
  /** Put around each plugin as it is made: instrumentation. */
  readonly wrapPlugin?: PluginWrap;
  /** Put around the whole scheduler. */
  readonly wrapScheduler?: (scheduler: Scheduler) => Scheduler;
  /** For a scheduler in place of the profiles, where `runtime` is not the real world: it may be in another process. */
  readonly schedulerRuntime?: Runtime;
}

/** The decision core, data sources running: pool, ledger, plugins and scheduler made into one synchronous `route`. No sockets. */
export interface EndpointPicker extends Required<Router> {
  readonly pool: EndpointPool;
  readonly ledger: Ledger;
  /** Plugin instances that hear of requests and endpoints, data sources included. */
  readonly observers: readonly Observer[];
  /** Undefined where the profiles decide. */
  replacement(): ReplacementReport | undefined;
  /** Stops the data sources. Reservations still open can still be ended. */
  stop(): void;
}

export function createEndpointPicker(options: EndpointPickerOptions): EndpointPicker {
  const { runtime } = options;
  const pool = new EndpointPool();
  const ledger = new Ledger();
  const engineModel = new EngineModel();
  pool.observeEndpoints(ledger);
  pool.observeEndpoints(engineModel);
  const coreFacts = [...ledger.facts, engineModel.fact];
  const core = createSchedulingCore({ ...options, pool, coreFacts });
  const observers = [...core.observers, ...(options.observers ?? [])];
  for (const observer of observers) pool.observeEndpoints(observer);
  const hearers: readonly RequestObserver[] = [...observers, engineModel];
  const markers = observers.filter((observer) => observer.responseHeaders !== undefined);
  const shared = { pool, runtime, hearers, markers };

  return {
    pool,
    ledger,
    observers,
    replacement: () => core.replacement(),
    stop: () => core.stop(),
    prepare(request, body, ready, { subset } = {}) {
      const all = subset === undefined;
      const candidates = () => ({ endpoints: subsetOf(pool.snapshot(), subset), all });
      return core.prepare(request, body, candidates, ready);
    },
    route(request, options: RouteOptions = {}) {
      const { subset, firstTokenSeen = false, endSeen = true, decided } = options;
      const now = runtime.clock.now();
      const candidates = subsetOf(pool.snapshot(), subset);
      if (candidates.length === 0) throw noCandidates(pool.snapshot().length, subset);
      const cycle = core.schedule(request, candidates, { now, decided });
      const { result } = cycle;
      const endpoint = primaryOf(result, candidates.length);
      const { prefill } = result;
      const cachedTokens = cycle.cachedTokens(endpoint);
      const computes = prefill && { endpoint: prefill, cachedTokens: cycle.cachedTokens(prefill) };
      const booked = book(endpoint, {
        request,
        prefill: computes,
        cachedTokens,
        ledger,
        engineModel,
      });
      const { load, ttftMs, decodeMs, reservation } = booked;
      // Of an answer that comes in one piece only the end is seen.
      const seen = firstTokenSeen && request.streaming;
      const timing = { at: now, firstTokenSeen: seen };
      const routed: Routed = { request, endpoint, prefill, cachedTokens, load, ...timing };
      const endsAt = endSeen ? undefined : now + ttftMs + decodeMs;
      const ticket = new Ticket({ routed, result, reservation, endsAt, ...shared });
      if (!seen) ticket.expectPrefill(ttftMs);
      return ticket;
    },
  };
}

function noCandidates(pooled: number, subset: readonly string[] | undefined): RoutingError {
  const why =
    subset === undefined || pooled === 0
      ? 'the pool has no endpoint'
      : `none of the pool's ${pooled} endpoints is in the subset the proxy allows (${subset.length} entries)`;
  return new RoutingError('no-endpoints', `no endpoint can serve this request: ${why}`);
}

function primaryOf({ primary }: SchedulingResult, candidates: number): Endpoint {
  const target = primary.kind === 'picked' ? primary.targets[0]?.endpoint : undefined;
  if (target !== undefined) return target;
  throw new RoutingError(
    'saturated',
    `the filters of profile ${primary.profile} left none of ${candidates} endpoints for this request`,
  );
}
