import type { InFlightLoad } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import type { Clock, Millis, Runtime } from '../../framework/runtime.ts';
import type { Decision } from '../../framework/scheduling.ts';
import type { ActiveCores } from '../cores/active-cores.ts';
import { EventClock } from '../events/event-clock.ts';
import type { Ledger } from '../load/ledger.ts';
import { OpenReservations } from '../load/open-reservations.ts';
import { learnEnded, type RequestEnding } from './ended-request.ts';
import { type PlacedRequest, type ReserveParts, reservePlaced } from './place-request.ts';
import type { ReservedRequest } from './reserved-request.ts';

/** A request that another replica has sent to an endpoint. Times are those of this process. */
export interface RequestElsewhere {
  /** The number of the decision at the other replica. */
  readonly number: number;
  readonly request: InferenceRequest;
  readonly endpoint: Endpoint;
  readonly prefill: Endpoint | undefined;
  /** Tokens of its prompt that the other replica expects where the prompt is computed. */
  readonly cachedTokens: number;
  /** What was in flight at the endpoint as the other replica saw it. */
  readonly load: InFlightLoad;
  readonly firstTokenVisible: boolean;
  /** A message about what becomes of it comes within this time. */
  readonly messageDelayMs: Millis;
}

export interface ElsewhereOptions {
  readonly runtime: Pick<Runtime, 'clock'>;
  readonly reservations?: { readonly maxAgeMs: Millis } | undefined;
  readonly parts: ReserveParts & { readonly ledger: Ledger };
  /** Asked at each request: they change with the configuration. */
  readonly cores: () => ActiveCores;
}

/** Above the time limit of any request, as in `serve`. */
const AGE_MS_MAX: Millis = 90_000_000;
const NO_HEADERS: ReadonlyMap<string, string> = new Map();
const NONE: readonly never[] = [];
const DECIDED_BY = 'replica';

/**
 * Books what other replicas have sent to the endpoints of this picker, by the same calls as its own
 * requests: ledger, backlog, ejection, engine model and plugins. Journal and metrics count only
 * what this picker decides. Each call says when its event has happened, which is in the past.
 */
export class Elsewhere {
  readonly #options: ElsewhereOptions;
  readonly #parts: ReserveParts;
  /** Apart from the picker's own, which say something about gateways. */
  readonly #open: OpenReservations;
  /** By slot. */
  readonly #decisions: { readonly endpoint: Endpoint; readonly decision: Decision }[] = [];
  #at: Millis = 0;

  constructor(options: ElsewhereOptions) {
    const { parts, reservations: { maxAgeMs } = { maxAgeMs: AGE_MS_MAX } } = options;
    const timers = options.runtime.clock;
    this.#options = options;
    this.#open = new OpenReservations({ clock: timers, maxAgeMs });
    const setTimer: Clock['setTimer'] = (delay, callback) =>
      timers.setTimer(delay, () => this.events(callback));
    const past: Clock = { now: () => this.#at, wallTime: () => timers.wallTime(), setTimer };
    const clock = new EventClock(
      past,
      () => undefined,
      (error) => parts.faults.report(this, 'timer', error),
    );
    this.#parts = { ...parts, clock, open: this.#open, ledger: parts.ledger.elsewhere };
  }

  /** Runs `apply` as one event: requests that wait are looked at once, after it. */
  events(apply: () => void): void {
    const { clock } = this.#options.parts;
    clock.begin();
    try {
      apply();
    } finally {
      clock.end();
    }
  }

  /** What is called from now on has happened at this time, or now where that is earlier. */
  happenedAt(at: Millis): void {
    this.#at = Math.min(at, this.#options.parts.clock.now());
  }

  /** Reserves. To be called after `happenedAt`, like the methods of what it returns. */
  book(booked: RequestElsewhere): RoutedRequest {
    const reserved = reservePlaced(
      this.#placed(booked),
      {
        requestObservers: this.#options.cores().inCharge.elsewhereObservers,
        responseHeaderPlugins: NONE,
        reporters: NONE,
      },
      this.#parts,
    );
    if (booked.firstTokenVisible) this.#expectFirstToken(reserved, booked.messageDelayMs);
    return reserved;
  }

  /** Learns from a request that has ended already. To be called after `happenedAt`, too. */
  ended(booked: RequestElsewhere, ending: RequestEnding): void {
    const observers = this.#options.cores().inCharge.elsewhereObservers;
    learnEnded(this.#placed(booked), ending, observers, this.#parts);
  }

  stop(): void {
    this.#open.stop();
  }

  #placed(booked: RequestElsewhere): PlacedRequest {
    const { number, request, endpoint, prefill, cachedTokens, load, firstTokenVisible } = booked;
    const decision =
      prefill === undefined ? this.#decisionFor(endpoint) : madeFor(endpoint, prefill);
    return {
      number,
      at: this.#at,
      request,
      endpoint,
      prefill,
      heldMs: undefined,
      cachedTokens,
      prefillCachedTokens: cachedTokens,
      firstTokenVisible,
      endVisible: true,
      decision,
      load,
    };
  }

  /** The message of a first token takes some time, in which the endpoint would look busy. */
  #expectFirstToken(reserved: ReservedRequest, messageDelayMs: Millis): void {
    const leftMs = reserved.expectedTtftMs - (this.#options.parts.clock.now() - reserved.at);
    reserved.expectUnseen(Math.max(0, leftMs), messageDelayMs);
  }

  /** Nothing changes it, so that all requests of an endpoint have one until its state changes. */
  #decisionFor(endpoint: Endpoint): Decision {
    const known = this.#decisions[endpoint.slot];
    if (known?.endpoint === endpoint) return known.decision;
    const decision = madeFor(endpoint, undefined);
    this.#decisions[endpoint.slot] = { endpoint, decision };
    return decision;
  }
}

/** The decision of a request that another replica has sent there. */
function madeFor(endpoint: Endpoint, prefill: Endpoint | undefined): Decision {
  return {
    primary: { kind: 'picked', profile: DECIDED_BY, targets: [{ endpoint, score: 0 }] },
    profiles: NONE,
    headers: NO_HEADERS,
    decidedBy: DECIDED_BY,
    prefill,
  };
}
