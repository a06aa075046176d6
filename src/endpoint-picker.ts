import {
  instantiate,
  type PickerParts,
  type PluginWrap,
  type Preparer,
} from './config/instantiate.ts';
import type { PickerPlan } from './config/picker-plan.ts';
import { EndpointPool } from './datalayer/endpoint-pool.ts';
import { EngineModel } from './datalayer/engine-model.ts';
import { Ledger, type Reservation } from './datalayer/ledger.ts';
import { subsetOf } from './datalayer/subset.ts';
import type { Endpoint } from './framework/endpoint.ts';
import { RoutingError } from './framework/error.ts';
import {
  type InFlightLoad,
  PRECISE_PREFIX_PRODUCER,
  type PrefixMatch,
  prefixMatchKey,
} from './framework/keys.ts';
import type { Outcome, RequestObserver, Routed, Usage } from './framework/observer.ts';
import type { Observer } from './framework/plugin.ts';
import type { InferenceRequest } from './framework/request.ts';
import type { RoutedRequest, RouteOptions, Router } from './framework/routing.ts';
import type { Millis, Runtime, Timer } from './framework/runtime.ts';
import type {
  CycleKey,
  Scheduler,
  SchedulingContext,
  SchedulingResult,
} from './framework/scheduling.ts';
import { decodeStepMs, predictedTtftMs } from './framework/step-time.ts';
import { createContext } from './scheduling/context.ts';
import { createScheduler } from './scheduling/scheduler.ts';

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
  const matchKey = bestPrefixMatch(parts.facts);

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
      const target = primaryOf(result, candidates.length);
      const cachedTokens = matchKey === undefined ? 0 : cachedTokensOf(target, context, matchKey);
      const { load, ttftMs, decodeMs, reservation } = book(target, {
        request,
        cachedTokens,
        ledger,
        engineModel,
      });
      const routed: Routed = {
        request,
        endpoint: target,
        at: now,
        cachedTokens,
        load,
        // Of an answer that comes in one piece only the end is seen.
        firstTokenSeen: firstTokenSeen && request.streaming,
      };
      const endsAt = endSeen ? undefined : now + ttftMs + decodeMs;
      const ticket = new Ticket({ routed, result, reservation, endsAt, pool, runtime, hearers });
      if (!routed.firstTokenSeen) ticket.expectPrefill(ttftMs);
      return ticket;
    },
  };
}

/** Reserves, after noting what was there and what the model makes of it. */
function book(
  target: Endpoint,
  {
    request,
    cachedTokens,
    ledger,
    engineModel,
  }: Pick<Routed, 'request' | 'cachedTokens'> & {
    readonly ledger: Ledger;
    readonly engineModel: EngineModel;
  },
): Booking {
  const prefillTokens = Math.max(0, request.promptTokens - cachedTokens);
  const outputTokens = engineModel.expectedOutputTokens(request);
  const engine = engineModel.stepTime(target);
  const { requests, pendingPrefillTokens, contextTokens } = ledger.load(target);
  const size = { prefillTokens, contextTokens: request.promptTokens + outputTokens };
  return {
    // A copy: the ledger's own goes on counting.
    load: { requests, pendingPrefillTokens, contextTokens },
    ttftMs: predictedTtftMs(ledger.load(target), prefillTokens, engine),
    decodeMs: outputTokens * decodeStepMs(requests, contextTokens, engine),
    reservation: ledger.reserve(target, { model: request.model, ...size }),
  };
}

interface Booking {
  readonly load: InFlightLoad;
  readonly ttftMs: Millis;
  readonly decodeMs: Millis;
  readonly reservation: Reservation;
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

function cachedTokensOf(
  endpoint: Endpoint,
  context: SchedulingContext,
  matchKey: CycleKey<PrefixMatch>,
): number {
  const match = context.get(matchKey);
  return Math.min(context.request.promptTokens, match.matchedBlocks(endpoint) * match.blockTokens);
}

interface TicketParts {
  readonly routed: Routed;
  readonly result: SchedulingResult;
  readonly reservation: Reservation;
  /** When a response whose end nobody sees is taken to be over; undefined where it is seen. */
  readonly endsAt: Millis | undefined;
  readonly pool: EndpointPool;
  readonly runtime: Runtime;
  readonly hearers: readonly RequestObserver[];
}

/** One routed request until its end. Whatever is said after the end, or twice, has no effect. */
class Ticket implements RoutedRequest {
  readonly #parts: TicketParts;
  #prefillTimer: Timer | undefined;
  #prefilled = false;
  #open = true;

  constructor(parts: TicketParts) {
    this.#parts = parts;
    for (const hearer of parts.hearers) hearer.onRouted?.(parts.routed);
  }

  get request(): InferenceRequest {
    return this.#parts.routed.request;
  }

  get endpoint(): Endpoint {
    return this.#parts.routed.endpoint;
  }

  get destinations(): readonly string[] {
    const { primary } = this.#parts.result;
    return primary.kind === 'picked' ? primary.targets.map(({ endpoint }) => endpoint.address) : [];
  }

  get headers(): ReadonlyMap<string, string> {
    return this.#parts.result.headers;
  }

  /** Where no first token can be seen, the prefill is taken as done when the model says it should be. */
  expectPrefill(ttftMs: number): void {
    this.#prefillTimer = this.#parts.runtime.clock.setTimer(ttftMs, () =>
      this.#parts.reservation.prefilled(),
    );
  }

  firstToken(): void {
    if (!this.#open || this.#prefilled) return;
    this.#prefilled = true;
    this.#parts.reservation.prefilled();
    const at = this.#parts.runtime.clock.now();
    for (const hearer of this.#parts.hearers) hearer.onFirstToken?.(this.#parts.routed, at);
  }

  served(address: string): void {
    if (!this.#open || address === this.endpoint.address) return;
    const { pool, reservation } = this.#parts;
    const actual = pool.snapshot().find((endpoint) => endpoint.address === address);
    if (actual !== undefined) reservation.moveTo(actual);
  }

  bodyRead(request: InferenceRequest): void {
    if (!this.#open) return;
    for (const hearer of this.#parts.hearers) hearer.onBodyRead?.(this.#parts.routed, request);
  }

  done(outcome: Outcome, usage?: Usage): void {
    const { endsAt, runtime } = this.#parts;
    const leftMs = outcome === 'completed' ? (endsAt ?? 0) - runtime.clock.now() : 0;
    if (leftMs > 0) runtime.clock.setTimer(leftMs, () => this.#settle(outcome, usage));
    else this.#settle(outcome, usage);
  }

  #settle(outcome: Outcome, usage: Usage | undefined): void {
    if (!this.#open) return;
    this.#open = false;
    this.#prefillTimer?.cancel();
    this.#parts.reservation.release();
    const at = this.#parts.runtime.clock.now();
    for (const hearer of this.#parts.hearers)
      hearer.onDone?.(this.#parts.routed, at, outcome, usage);
  }
}
