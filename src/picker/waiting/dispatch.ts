import type { WaitingQueue } from '../../flow/waiting-queue.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { EndpointBacklog } from '../capacity/endpoint-backlog.ts';
import type { DecidedCycle } from '../cycles/cycle.ts';
import type { EndpointPool } from '../pool/endpoint-pool.ts';
import type { HeldRequest, Target } from './held-request.ts';

export interface DispatchOptions {
  readonly pool: Pick<EndpointPool, 'get' | 'snapshot'>;
  readonly backlog: Pick<EndpointBacklog, 'isOpen' | 'isOpenFor' | 'hasSlot'>;
  /** Whether requests wait for room at all. Where not, each goes at once, in slices. */
  readonly holds: () => boolean;
  /** It goes only where fewer tokens of prompts are pending; undefined for two steps. */
  readonly pendingBelow: (held: HeldRequest, at: Millis) => number | undefined;
  readonly queue: WaitingQueue<HeldRequest>;
  /** Decides the request as of now, and moves it to the endpoint for which it waits now. */
  readonly decideAnew: (held: HeldRequest, at: Millis) => DecidedCycle | undefined;
  /** Places by what was decided in this event; undefined where it could not be. */
  readonly place: (held: HeldRequest, cycle: DecidedCycle | undefined, at: Millis) => void;
}

/** Decisions are costly where there are many endpoints: at most so many are scored in one go. */
const SCORED_MAX = 128;
const DECISIONS_MAX = 4;
/**
 * The least time between two looks at requests that wait for other endpoints than the open ones.
 */
const REFRESH_MS = 2;

/**
 * Places what can be placed. Each request waits for the endpoint that was best for it when it was
 * last decided. Where such an endpoint is open, the most urgent of its requests is decided anew and
 * placed. Where an endpoint is open and no request waits for it, those whose time for another look
 * has come are decided anew: it may have become the best for one of them.
 */
export class Dispatch {
  readonly #options: DispatchOptions;
  #refreshedAt: Millis = Number.NEGATIVE_INFINITY;
  /** By slot: what was found out in this dispatch. */
  #open: (boolean | undefined)[] = [];
  #decisionsLeft = 0;

  constructor(options: DispatchOptions) {
    this.#options = options;
  }

  /**
   * Returns whether more might be placed at once: one dispatch makes a bounded number of decisions.
   */
  run(at: Millis): boolean {
    const { queue, pool } = this.#options;
    const endpoints = pool.snapshot();
    this.#open = [];
    const affordable = Math.floor(SCORED_MAX / Math.max(1, endpoints.length));
    this.#decisionsLeft = Math.max(1, Math.min(DECISIONS_MAX, affordable));
    const mayRefresh = at - this.#refreshedAt >= REFRESH_MS;
    if (mayRefresh) this.#refreshedAt = at;
    for (const priority of queue.priorities) {
      while (this.#placeNext(priority, at)) if (this.#decisionsLeft <= 0) return true;
      if (mayRefresh && endpoints.some((endpoint) => this.#isOpen(endpoint, at))) {
        this.#refresh(priority, at);
      }
      if (this.#decisionsLeft <= 0) return false;
    }
    return false;
  }

  /** Decides the most urgent request whose endpoint is open; false where there is none. */
  #placeNext(priority: number, at: Millis): boolean {
    const first = this.#options.queue.first(priority, at, {
      isOpen: ({ target }) => this.#canBegin(target, at),
      isOpenTo: (held) => this.#canBeginNow(held, at),
    });
    if (first === undefined) return false;
    this.#lookAgain(first, at);
    return true;
  }

  #refresh(priority: number, at: Millis): void {
    while (this.#decisionsLeft > 0) {
      const held = this.#options.queue.nextLook(priority, at);
      if (held === undefined) return;
      this.#lookAgain(held, at);
    }
  }

  /** Decides the request anew, and places it where its endpoint is open now. */
  #lookAgain(held: HeldRequest, at: Millis): void {
    const { decideAnew, place } = this.#options;
    this.#decisionsLeft -= 1;
    const cycle = decideAnew(held, at);
    const { target } = held;
    if (!this.#canBegin(target, at) || !this.#canBeginNow(held, at)) return;
    place(held, cycle, at);
    if (target !== undefined) this.#open[target.endpoint.slot] = undefined;
  }

  #canBegin(target: Target | undefined, at: Millis): boolean {
    // One that cannot be decided is refused when it is placed.
    if (target === undefined || !this.#options.holds()) return true;
    if (target.prefill !== undefined) return this.#options.backlog.isOpenFor(target, at);
    return this.#isOpen(target.endpoint, at) && this.#hasSlot(target);
  }

  /** Where the target can begin a request: whether it can begin this one. */
  #canBeginNow(held: HeldRequest, at: Millis): boolean {
    const { backlog, holds, pendingBelow } = this.#options;
    const { target } = held;
    if (target === undefined || !holds()) return true;
    const below = pendingBelow(held, at);
    return below === undefined || backlog.isOpenFor(target, at, below);
  }

  #hasSlot({ endpoint: { id }, adapter }: Target): boolean {
    const present = this.#options.pool.get(id);
    return present === undefined || this.#options.backlog.hasSlot(present, adapter);
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
