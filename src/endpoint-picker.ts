import { book } from './booking.ts';
import {
  instantiate,
  type PickerParts,
  type PluginWrap,
  type Preparer,
} from './config/instantiate.ts';
import type { PickerPlan } from './config/picker-plan.ts';
import { EndpointPool } from './datalayer/endpoint-pool.ts';
import { EngineModel } from './datalayer/engine-model.ts';
import { Ledger } from './datalayer/ledger.ts';
import { subsetOf } from './datalayer/subset.ts';
import type { Endpoint } from './framework/endpoint.ts';
import { RoutingError } from './framework/error.ts';
import { PRECISE_PREFIX_PRODUCER, type PrefixMatch, prefixMatchKey } from './framework/keys.ts';
import type { RequestObserver, Routed } from './framework/observer.ts';
import type { Observer } from './framework/plugin.ts';
import type { InferenceRequest } from './framework/request.ts';
import type { RouteOptions, Router } from './framework/routing.ts';
import type { Runtime } from './framework/runtime.ts';
import type {
  CycleKey,
  Scheduler,
  SchedulingContext,
  SchedulingResult,
} from './framework/scheduling.ts';
import { createContext } from './scheduling/context.ts';
import { createScheduler } from './scheduling/scheduler.ts';
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
}

/** The decision core, data sources running: pool, ledger, plugins and scheduler made into one synchronous `route`. No sockets. */
export interface EndpointPicker extends Router {
  readonly pool: EndpointPool;
  readonly ledger: Ledger;
  /** Plugin instances that hear of requests and endpoints, data sources included. */
  readonly observers: readonly Observer[];
  /** Stops the data sources. Reservations still open can still be ended. */
  stop(): void;
}

export function createEndpointPicker(options: EndpointPickerOptions): EndpointPicker {
  const { plan, runtime } = options;
  const pool = new EndpointPool();
  const ledger = new Ledger();
  const engineModel = new EngineModel();
  pool.observeEndpoints(ledger);
  pool.observeEndpoints(engineModel);
  const parts = instantiate(plan, {
    pool,
    runtime,
    coreFacts: [...ledger.facts, engineModel.fact],
    ...(options.wrapPlugin && { wrap: options.wrapPlugin }),
  });
  const bare = createScheduler(parts.handler);
  const scheduler = options.wrapScheduler?.(bare) ?? bare;
  const observers = [...parts.observers, ...(options.observers ?? [])];
  for (const observer of observers) pool.observeEndpoints(observer);
  const hearers: readonly RequestObserver[] = [...observers, engineModel];
  const markers = observers.filter((observer) => observer.responseHeaders !== undefined);
  const shared = { pool, runtime, hearers, markers };
  const cachedIn = cachedTokensBy(bestPrefixMatch(parts.facts));

  return {
    pool,
    ledger,
    observers,
    stop: () => parts.stop(),
    prepare: (request, body, ready) => prepareAll(parts.preparers, { request, body, ready }),
    route(request, { subset, firstTokenSeen = false, endSeen = true }: RouteOptions = {}) {
      const now = runtime.clock.now();
      const candidates = subsetOf(pool.snapshot(), subset);
      if (candidates.length === 0) throw noCandidates(pool.snapshot().length, subset);
      const random = runtime.random.fork(request.id);
      const context = createContext({ request, now, random }, candidates, parts.facts);
      const result = scheduler.schedule(candidates, context);
      const endpoint = primaryOf(result, candidates.length);
      const { prefill } = result;
      const cachedTokens = cachedIn(endpoint, context);
      const computes = prefill && { endpoint: prefill, cachedTokens: cachedIn(prefill, context) };
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

/** True, and `ready` is called at the last of them, when any of them has to be waited for. */
function prepareAll(
  sources: readonly Preparer[],
  {
    request,
    body,
    ready,
  }: {
    readonly request: InferenceRequest;
    readonly body: readonly Uint8Array[];
    readonly ready: () => void;
  },
): boolean {
  let waiting = 0;
  for (const source of sources) {
    const waits = source.prepare(request, body, () => {
      waiting -= 1;
      if (waiting === 0) ready();
    });
    if (waits) waiting += 1;
  }
  return waiting > 0;
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
