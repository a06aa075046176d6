import type { QueueDiscipline, ReadyGroup, Waiting } from '../../flow/discipline.ts';
import { type Urgency, urgencyBy, type WaitingOrder } from '../../flow/order.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { DecidedCycle } from '../cycles/cycle.ts';
import type { EndpointBacklog } from '../load/endpoint-backlog.ts';
import type { EndpointPool } from '../pool/endpoint-pool.ts';
import type { HeldRequest, Target } from './held-request.ts';

export interface DispatchOptions {
  readonly pool: EndpointPool;
  readonly backlog: EndpointBacklog;
  readonly heldOf: (waiting: Waiting) => HeldRequest | undefined;
  /** Decides the request as of now, and keeps the new target in it. */
  readonly decideAnew: (held: HeldRequest, at: Millis) => DecidedCycle | undefined;
  /** Places by what was decided in this event; undefined where it could not be. */
  readonly place: (held: HeldRequest, cycle: DecidedCycle | undefined, at: Millis) => void;
}

/** Requests of a group that are looked at, in the order of the discipline. */
const LOOKED_AT = 256;
/** Decisions are costly where there are many endpoints: at most so many are scored in one go. */
const SCORED_MAX = 512;
const DECISIONS_MAX = 16;
/** The least time between two looks at requests that wait for other endpoints than the open ones. */
const REFRESH_MS = 2;

/**
 * Places what can be placed. Each request waits for the endpoint that was best for it when it was
 * last decided. Where such an endpoint is open, the most urgent of its requests is decided anew and
 * placed. Where an endpoint is open and no request waits for it, those that were decided longest
 * ago are decided anew: it may have become the best for one of them.
 */
export class Dispatch {
  readonly #options: DispatchOptions;
  #refreshedAt: Millis = Number.NEGATIVE_INFINITY;
  /** By slot: what was found out in this dispatch. */
  #open: (boolean | undefined)[] = [];
  #decisionsLeft = 0;
  #urgencyOf: (urgency: Urgency) => number = urgencyBy('response-ratio');

  constructor(options: DispatchOptions) {
    this.#options = options;
  }

  run(discipline: QueueDiscipline, order: WaitingOrder, at: Millis): void {
    const endpoints = this.#options.pool.snapshot();
    this.#open = [];
    this.#urgencyOf = urgencyBy(order);
    const affordable = Math.floor(SCORED_MAX / Math.max(1, endpoints.length));
    this.#decisionsLeft = Math.max(1, Math.min(DECISIONS_MAX, affordable));
    const mayRefresh = at - this.#refreshedAt >= REFRESH_MS;
    if (mayRefresh) this.#refreshedAt = at;
    for (const group of discipline.ready(at)) {
      while (this.#decisionsLeft > 0) if (!this.#placeNext(group, at)) break;
      if (mayRefresh && endpoints.some((endpoint) => this.#isOpen(endpoint, at))) {
        this.#refresh(group, at);
      }
      if (this.#decisionsLeft <= 0) return;
    }
  }

  /** Decides the most urgent request whose endpoint is open; false where there is none. */
  #placeNext(group: ReadyGroup, at: Millis): boolean {
    let first: HeldRequest | undefined;
    let most = Number.NEGATIVE_INFINITY;
    let looked = 0;
    for (const waiting of group.requests) {
      if (looked++ >= LOOKED_AT) break;
      const held = this.#options.heldOf(waiting);
      if (held === undefined || !this.#canBegin(held.target, at)) continue;
      const urgency = this.#urgencyOf({
        waitedMs: at - waiting.since,
        ownMs: held.target?.ownMs ?? 0,
        ttftSloMs: waiting.request.ttftSloMs,
      });
      if (urgency <= most) continue;
      most = urgency;
      first = held;
    }
    if (first === undefined) return false;
    this.#decide(first, at);
    return true;
  }

  #refresh(group: ReadyGroup, at: Millis): void {
    while (this.#decisionsLeft > 0) {
      let oldest: HeldRequest | undefined;
      let looked = 0;
      for (const waiting of group.requests) {
        if (looked++ >= LOOKED_AT) break;
        const held = this.#options.heldOf(waiting);
        if (held !== undefined && held.decidedAt < (oldest?.decidedAt ?? at)) oldest = held;
      }
      if (oldest === undefined) return;
      this.#decide(oldest, at);
    }
  }

  /** Decides the request anew, and places it where its endpoint is open now. */
  #decide(held: HeldRequest, at: Millis): void {
    const { decideAnew, place } = this.#options;
    this.#decisionsLeft -= 1;
    const cycle = decideAnew(held, at);
    const { target } = held;
    if (!this.#canBegin(target, at)) return;
    place(held, cycle, at);
    if (target !== undefined) this.#open[target.endpoint.slot] = undefined;
  }

  #canBegin(target: Target | undefined, at: Millis): boolean {
    // One that cannot be decided is refused when it is placed.
    if (target === undefined) return true;
    if (target.prefill !== undefined) return this.#options.backlog.isOpenFor(target, at);
    return this.#isOpen(target.endpoint, at);
  }

  #isOpen({ slot, id }: Endpoint, at: Millis): boolean {
    const known = this.#open[slot];
    if (known !== undefined) return known;
    // The endpoint of an earlier decision may have an old sample, or may have gone.
    const present = this.#options.pool.get(id);
    const isOpen = present === undefined || this.#options.backlog.isOpen(present, at);
    this.#open[slot] = isOpen;
    return isOpen;
  }
}
