import type { Waiting } from '../../flow/discipline.ts';
import { FairShares, type Share } from '../../flow/fair-shares.ts';
import { WaitingQueue } from '../../flow/waiting-queue.ts';
import type {
  HeldSum,
  Placement,
  RoutedRequest,
  RouteOptions,
  Waited,
} from '../../framework/routing.ts';
import type { Clock, Millis, Timer } from '../../framework/runtime.ts';
import type { Cycle, DecidedCycle } from '../cycles/cycle.ts';
import type { EngineModel } from '../engine-model/engine-model.ts';
import type { EventClock } from '../events/event-clock.ts';
import type { ConcurrencyLimit } from '../load/concurrency-limit.ts';
import { EndpointBacklog } from '../load/endpoint-backlog.ts';
import { HeldLoads } from '../load/held-loads.ts';
import type { Ledger } from '../load/ledger.ts';
import { DEFAULT_HOLD, type HoldPlan } from '../plan/hold-plan.ts';
import type { EndpointPool } from '../pool/endpoint-pool.ts';
import { Dispatch } from './dispatch.ts';
import { type HeldRequest, placeOf, type Target, targetOf } from './held-request.ts';
import { NextLook } from './next-look.ts';

export interface WaitingRoomOptions {
  readonly pool: EndpointPool;
  readonly ledger: Ledger;
  readonly engineModel: EngineModel;
  readonly limit: ConcurrencyLimit;
  readonly clock: EventClock;
  /** The real clock: a capture must not number the timer of the longest wait. */
  readonly timers: Clock;
  /** What would be decided now. Changes nothing. */
  readonly decide: (waiting: Waiting, options: RouteOptions) => DecidedCycle;
  /** Places by what was decided in this event. Throws what `route` throws. */
  readonly conclude: (cycle: DecidedCycle) => RoutedRequest;
  readonly route: (waiting: Waiting, options: RouteOptions) => RoutedRequest;
  /** A placement has thrown. */
  readonly onError: (error: unknown) => void;
}

/** What waits now, for documents. */
export interface Waits {
  /** The oldest first. */
  readonly requests: Iterable<Waiting>;
  /** What waits for each endpoint, as sums. */
  readonly byEndpoint: readonly HeldSum[];
}

/**
 * The requests that wait at the picker until their endpoint can begin them. Bound at once, a
 * request would stand in its engine's queue, and what is learned later would come too late. What
 * waits is looked at after each event, and one timer ends the longest wait.
 */
export class WaitingRoom {
  readonly backlog: EndpointBacklog;
  readonly loads: HeldLoads;
  /** Observes all requests, whether they have waited or not. */
  readonly shares: FairShares = new FairShares();
  readonly #options: WaitingRoomOptions;
  readonly #dispatch: Dispatch;
  readonly #held = new Map<Placement, HeldRequest>();
  readonly #queue = new WaitingQueue<HeldRequest>(this.shares);
  #arrivals = 0;
  #plan: HoldPlan | undefined;
  #timer: Timer | undefined;
  #isBusy = false;
  /** The ledger's count when it was last looked at. */
  #freed = -1;
  /** Something has changed that the ledger does not count. */
  #mustLook = false;
  readonly #next: NextLook;

  constructor(options: WaitingRoomOptions) {
    const { pool, ledger, clock, timers } = options;
    this.#options = options;
    this.backlog = new EndpointBacklog(options);
    this.loads = new HeldLoads(ledger, this.shares);
    this.#dispatch = new Dispatch({
      pool,
      backlog: this.backlog,
      crowds: ({ share }) => this.#crowds(share),
      queue: this.#queue,
      decideAnew: (held, at) => this.#decideAnew(held, at),
      place: (held, cycle, at) => this.#place(held, cycle, at),
    });
    pool.observeEndpoints(this.backlog);
    pool.observeEndpoints({ onEndpointRemoved: (endpoint) => this.loads.forget(endpoint) });
    const look = (): void => {
      this.#mustLook = true;
      this.dispatch();
    };
    this.#next = new NextLook(timers, look);
    pool.afterChange = look;
    clock.afterEvent = () => this.dispatch();
  }

  /** Without a plan, or with one that is not enabled, what comes from now on does not wait. */
  configure(plan: HoldPlan | undefined): void {
    this.#plan = plan?.enabled === true ? plan : undefined;
    this.#queue.orderBy((this.#plan ?? DEFAULT_HOLD).order);
    this.loads.isFair = this.#queue.isFair;
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

  /** Takes a request in that cannot begin now. Throws `saturated` where too many wait. */
  keeps(cycle: Cycle, placement: Placement): boolean {
    const { at, request, options, all, decision } = cycle;
    const target = decision && targetOf(decision, cycle, this.#options.engineModel, this.loads);
    if (target === undefined) return false;
    const share = this.shares.of(request);
    if (this.backlog.isOpenFor(target, at, this.#crowds(share))) return false;
    const { bodyBytes: bytes } = request;
    this.#queue.admit(bytes, this.#plan ?? DEFAULT_HOLD);
    const waiting = { request, since: at, bytes, candidates: all.length };
    const decided = { target, ownMs: target.ownMs, decidedAt: at };
    const held = { waiting, share, options, placement, number: this.#arrivals++, ...decided };
    this.#held.set(placement, held);
    this.#queue.add(held, placeOf(target));
    this.loads.add(target.load);
    this.#arm();
    return true;
  }

  cancel(placement: Placement): void {
    const held = this.#held.get(placement);
    if (held === undefined) return;
    this.#forget(held);
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
      if (this.#dispatch.run(at)) this.#next.after(0);
    } finally {
      clock.end();
      this.#isBusy = false;
    }
  }

  stop(): void {
    this.#next.cancel();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Whether a flow that has got more than another one has filled the pool: the other needs room. */
  #crowds(share: Share): boolean {
    if (!this.#queue.isFair || !this.shares.isAhead(share)) return false;
    return share.pendingTokens > this.backlog.crowdedFrom(this.#options.pool.snapshot());
  }

  /** Undefined where it cannot be decided. */
  #decideAnew(held: HeldRequest, at: Millis): DecidedCycle | undefined {
    const { load: before } = held.target ?? {};
    const [cycle, target] = this.loads.without(before, () => this.#decided(held));
    this.#queue.move(held, () => {
      held.target = target;
      held.ownMs = target?.ownMs ?? 0;
      held.decidedAt = at;
      return placeOf(target);
    });
    if (before !== undefined && target !== undefined) this.loads.replace(before, target.load);
    else if (target !== undefined) this.loads.add(target.load);
    else if (before !== undefined) this.loads.remove(before);
    return cycle;
  }

  #decided({
    waiting,
    options,
  }: HeldRequest): readonly [DecidedCycle | undefined, Target | undefined] {
    const { decide, engineModel } = this.#options;
    try {
      const cycle = decide(waiting, options);
      return [cycle, targetOf(cycle.decision, cycle, engineModel, this.loads)];
    } catch {
      // `route` throws the same, and publishes it.
      return [undefined, undefined];
    }
  }

  #place(held: HeldRequest, cycle: DecidedCycle | undefined, at: Millis): void {
    const { waiting, placement, target } = held;
    this.#forget(held);
    const waited: Waited = {
      waitedMs: at - waiting.since,
      endpoint: target?.load.endpoint.id,
      cachedTokens: waiting.request.promptTokens - (target?.load.prefillTokens ?? 0),
    };
    try {
      let routed: RoutedRequest;
      try {
        routed = this.#routed(held, cycle, waited);
      } catch (error) {
        placement.refused(error);
        return;
      }
      placement.placed(routed);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #routed(held: HeldRequest, cycle: DecidedCycle | undefined, waited: Waited): RoutedRequest {
    const { conclude, route } = this.#options;
    const options = { ...held.options, waited };
    if (cycle === undefined) return route(held.waiting, options);
    cycle.options = options;
    return conclude(cycle);
  }

  #forget(held: HeldRequest): void {
    this.#letGo(held);
    this.#held.delete(held.placement);
    this.#queue.delete(held);
    if (this.#held.size === 0) this.stop();
  }

  #letGo(held: HeldRequest): void {
    if (held.target !== undefined) this.loads.remove(held.target.load);
    held.target = undefined;
  }

  #arm(): void {
    const [oldest] = this.#held.values();
    if (this.#timer !== undefined || oldest === undefined) return;
    const { timers, clock } = this.#options;
    const endsAt = oldest.waiting.since + (this.#plan ?? DEFAULT_HOLD).maxWaitMs;
    // In whole milliseconds: a sum of fractions may come out a little before the end.
    const delay = Math.max(0, Math.ceil(endsAt - clock.now()));
    this.#timer = timers.setTimer(delay, () => {
      this.#timer = undefined;
      this.#endLongWaits();
      this.#arm();
    });
  }

  /** Those that have waited for as long as is allowed go, whatever waits at their endpoints. */
  #endLongWaits(): void {
    const { clock } = this.#options;
    const { maxWaitMs } = this.#plan ?? DEFAULT_HOLD;
    const at = clock.begin();
    try {
      for (const held of this.#held.values()) {
        // As the timer computes it, or a rounding would have it set again and again.
        if (at < held.waiting.since + maxWaitMs) break;
        this.#place(held, this.#decideAnew(held, at), at);
      }
    } finally {
      clock.end();
    }
  }
}
