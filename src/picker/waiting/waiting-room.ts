import type { Waiting } from '../../flow/discipline.ts';
import { FairShares } from '../../flow/fair-shares.ts';
import { WaitingQueue } from '../../flow/waiting-queue.ts';
import { IN_FLIGHT, type InFlightView } from '../../framework/cycle-facts.ts';
import type { CycleFact } from '../../framework/plugin.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { HeldSum, Placement, RouteOptions } from '../../framework/routing.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import { AdapterSlots } from '../capacity/adapter-slots.ts';
import type { ConcurrencyLimit } from '../capacity/concurrency-limit.ts';
import { EndpointBacklog } from '../capacity/endpoint-backlog.ts';
import type { Cycle, DecidedCycle } from '../cycles/cycle.ts';
import type { EngineModel } from '../engine-model/engine-model.ts';
import type { EventClock } from '../events/event-clock.ts';
import { HeldLoads } from '../load/held-loads.ts';
import type { Ledger } from '../load/ledger.ts';
import { DEFAULT_HOLD, type HoldPlan } from '../plan/hold-plan.ts';
import type { EndpointPool } from '../pool/endpoint-pool.ts';
import { Arrival } from './arrival.ts';
import { type DepartureOptions, Departures } from './departures.ts';
import { Dispatch } from './dispatch.ts';
import { type HeldRequest, type Target, type TargetParts, targetOf } from './held-request.ts';
import { HeldRequests } from './held-requests.ts';
import { LongestWait } from './longest-wait.ts';
import { NextLook } from './next-look.ts';
import { PendingBound } from './pending-bound.ts';

export interface WaitingRoomOptions extends DepartureOptions {
  readonly pool: EndpointPool;
  readonly ledger: Ledger;
  readonly engineModel: EngineModel;
  readonly limit: ConcurrencyLimit;
  readonly clock: EventClock;
  /** The real clock: a capture must not number the timer of the longest wait. */
  readonly timers: Clock;
  /** What would be decided now. Reserves and publishes nothing. */
  readonly decideOnly: (waiting: Waiting, options: RouteOptions) => DecidedCycle;
  /** The client of one that waited has left. */
  readonly onLeft: (request: InferenceRequest, waitedMs: Millis) => void;
}

/** What waits is looked at so often without any event: an endpoint may be overdue meanwhile. */
const QUIET_MS: Millis = 5000;

/** What waits now, for documents. */
export interface Waits {
  /** The oldest first. */
  readonly requests: Iterable<Waiting>;
  /** What waits for each endpoint, as sums. */
  readonly byEndpoint: readonly HeldSum[];
}

/**
 * The requests that wait at the picker until their endpoint can begin them. A request that is sent
 * at once would wait in its engine's queue, and what is learned later could not change its
 * endpoint. What waits is looked at after each event, and one timer ends the longest wait.
 */
export class WaitingRoom {
  readonly backlog: EndpointBacklog;
  readonly loads: HeldLoads;
  readonly fact: CycleFact<InFlightView>;
  /** Observes all requests, whether they have waited or not. */
  readonly shares: FairShares = new FairShares();
  readonly #options: WaitingRoomOptions;
  readonly #targetParts: TargetParts;
  readonly #dispatch: Dispatch;
  readonly #departures: Departures;
  readonly #pending: PendingBound;
  readonly #queue = new WaitingQueue<HeldRequest>(this.shares);
  readonly #held: HeldRequests;
  #arrivals = 0;
  #plan: HoldPlan | undefined;
  #isBusy = false;
  /** The ledger's count when it was last looked at. */
  #freed = -1;
  /** Something has changed that the ledger does not count. */
  #mustLook = false;
  readonly #next: NextLook;
  readonly #longest: LongestWait;

  constructor(options: WaitingRoomOptions) {
    const { pool, ledger, engineModel, clock, timers } = options;
    this.#options = options;
    const slots = new AdapterSlots(ledger, engineModel.adapters);
    this.backlog = new EndpointBacklog({ ...options, slots });
    const { backlog, shares } = this;
    this.#pending = new PendingBound({ pool, backlog, queue: this.#queue, shares });
    const { crowdedFrom } = this.#pending;
    const { computedMs } = backlog;
    const loads = new HeldLoads(ledger, shares, { crowdedFrom, computedMs });
    this.loads = loads;
    this.#held = new HeldRequests(this.#queue, loads);
    this.#targetParts = { engineModel, loads, slots };
    this.fact = { key: IN_FLIGHT, compute: () => loads };
    this.#departures = new Departures(options, (held) => this.#forget(held));
    this.#dispatch = new Dispatch({
      pool,
      backlog,
      holds: () => this.isOn,
      pendingBelow: (held, at) => this.#pending.below(held.waiting.request, held, at),
      queue: this.#queue,
      decideAnew: (held, at) => this.#decideAnew(held, at),
      place: (held, cycle, at) => this.#departures.place(held, cycle, at),
    });
    pool.observeEndpoints(backlog);
    pool.observeEndpoints({ onEndpointRemoved: (endpoint) => this.loads.forget(endpoint) });
    const look = (): void => {
      this.#mustLook = true;
      this.dispatch();
      if (this.#held.size > 0) this.#next.after(QUIET_MS);
    };
    this.#next = new NextLook(timers, look);
    this.#longest = new LongestWait(timers, () => this.#endLongWaits());
    pool.observeChanges(look);
    clock.observeEvents(() => this.dispatch());
  }

  /**
   * Without a plan, or with one that is not enabled, no request waits from now on: those that do are
   * placed by the configuration in charge, a few at a time.
   */
  configure(plan: HoldPlan | undefined): void {
    this.#plan = plan?.enabled === true ? plan : undefined;
    this.#queue.orderBy((this.#plan ?? DEFAULT_HOLD).order);
    this.loads.isFair = this.#queue.isFair;
    // The timer that is set counts by the configuration before.
    this.#longest.cancel();
    this.#watchOldest();
    if (this.#plan === undefined && this.#held.size > 0) this.#next.after(0);
  }

  /** How many wait, and the bytes of their bodies. */
  get waiting(): { readonly requests: number; readonly bytes: number } {
    const { size, bytes } = this.#queue;
    return { requests: size, bytes };
  }

  /** Whether requests that come now may wait. */
  get isOn(): boolean {
    return this.#plan !== undefined;
  }

  get waits(): Waits {
    const requests = Array.from(this.#queue.items(), ({ waiting }) => waiting);
    return { requests, byEndpoint: this.loads.snapshot() ?? [] };
  }

  /**
   * Takes a request in that cannot begin now; undefined for others. Throws `saturated` where too
   * many wait.
   */
  takeIn(cycle: Cycle, placement: Placement): Arrival | undefined {
    const { at, request, options, all, decision } = cycle;
    const target = decision && targetOf(decision, cycle, this.#targetParts);
    if (target === undefined) return undefined;
    const share = this.shares.of(request);
    const pendingBelow = this.#pending.below(request, { target, share }, at);
    if (this.backlog.isOpenFor(target, at, pendingBelow)) return undefined;
    const { bodyBytes: bytes } = request;
    this.#queue.admit(bytes, this.#plan ?? DEFAULT_HOLD);
    const waiting = { request, since: at, bytes, candidates: all.length };
    const decided = { target, ownMs: target.ownMs, decidedAt: at };
    const arrival = new Arrival(placement);
    const held = {
      waiting,
      share,
      options,
      placement,
      arrival,
      number: this.#arrivals++,
      ...decided,
    };
    this.#held.add(held);
    this.#watchOldest();
    this.#next.after(QUIET_MS);
    return arrival;
  }

  cancel(placement: Placement): void {
    const held = this.#held.get(placement);
    if (held === undefined) return;
    this.#forget(held);
    const { request, since } = held.waiting;
    this.#options.onLeft(request, this.#options.clock.now() - since);
  }

  /** Places what can be placed now, if something has changed since the last call. */
  dispatch(): void {
    if (this.#isBusy || this.#held.size === 0) return;
    const { ledger, clock } = this.#options;
    if (ledger.freed === this.#freed && !this.#mustLook) return;
    this.#isBusy = true;
    const at = clock.begin();
    try {
      this.#freed = ledger.freed;
      this.#mustLook = false;
      const mayGoOn = this.#dispatch.run(at);
      // Requests that end in the call that places another may leave room where none was.
      if (mayGoOn || ledger.freed !== this.#freed) this.#next.after(0);
    } finally {
      clock.end();
      this.#isBusy = false;
    }
  }

  /** Refuses what still waits. */
  stop(): void {
    const { clock } = this.#options;
    const at = clock.begin();
    for (const held of this.#held.values()) this.#departures.end(held, at);
    this.#cancelTimers();
    clock.end();
  }

  #cancelTimers(): void {
    this.#next.cancel();
    this.#longest.cancel();
  }

  /** Undefined where it cannot be decided. */
  #decideAnew(held: HeldRequest, at: Millis): DecidedCycle | undefined {
    const [cycle, target] = this.loads.without(held.target?.load, () => this.#decided(held));
    this.#held.move(held, target, at);
    return cycle;
  }

  #decided({
    waiting,
    options,
  }: HeldRequest): readonly [DecidedCycle | undefined, Target | undefined] {
    const { decideOnly } = this.#options;
    try {
      const cycle = decideOnly(waiting, options);
      return [cycle, targetOf(cycle.decision, cycle, this.#targetParts)];
    } catch {
      // `route` throws the same, and publishes it.
      return [undefined, undefined];
    }
  }

  #forget(held: HeldRequest): void {
    this.#held.delete(held);
    if (this.#held.size === 0) this.#cancelTimers();
  }

  #watchOldest(): void {
    const { oldest } = this.#held;
    if (oldest !== undefined) this.#longest.endsAt(oldest.waiting.since + this.#maxWaitMs);
  }

  get #maxWaitMs(): Millis {
    return (this.#plan ?? DEFAULT_HOLD).maxWaitMs;
  }

  /** Refuses the requests that have waited for as long as is allowed. */
  #endLongWaits(): void {
    const { clock } = this.#options;
    const maxWaitMs = this.#maxWaitMs;
    const at = clock.begin();
    try {
      for (const held of this.#held.values()) {
        // Computed as the timer does: a rounding would have it set again and again.
        if (at < held.waiting.since + maxWaitMs) break;
        const cycle = this.#decideAnew(held, at);
        if (cycle === undefined) this.#departures.place(held, cycle, at);
        else this.#departures.refuse(held, cycle, at);
      }
    } finally {
      clock.end();
    }
    this.#watchOldest();
  }
}
