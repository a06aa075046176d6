import type { Clock, Millis } from '../../framework/runtime.ts';
import type { TraceRequest, TraceRequests } from './trace.ts';
import type { WorkloadContent } from './workload.ts';

/**
 * Delivers requests at their times. In a closed loop, a further turn of a session arrives when the
 * answer before it has ended and its pause is over; without a pause, at its own time if later.
 */
export class Arrivals {
  readonly #clock: Clock;
  readonly #arrive: (request: TraceRequest) => void;
  /** Requests that do not wait for an answer, in the order of time. */
  readonly #timed: TraceRequests;
  /** The turn that follows each request, if any. */
  readonly #turns = new Map<TraceRequest, TraceRequest>();
  /** Turns whose answer before them has ended, and which have not come yet: when they come. */
  readonly #paused = new Map<TraceRequest, Millis>();
  /** The least of `#paused`; undefined where it must be found again. */
  #firstTurnAtMs: Millis | undefined;
  #next = 0;
  /** The one at `#next`, because a table makes each when it is asked for. */
  #nextTimed: TraceRequest | undefined;
  #left: number;

  constructor(
    { requests, closedLoop = false }: WorkloadContent,
    { clock, arrive }: { readonly clock: Clock; readonly arrive: (request: TraceRequest) => void },
  ) {
    this.#clock = clock;
    this.#arrive = arrive;
    this.#left = requests.length;
    this.#timed = closedLoop ? firstOfSessions(requests, this.#turns) : requests;
    this.#nextTimed = this.#timed.at(0);
  }

  /** How many requests have not arrived yet. */
  get left(): number {
    return this.#left;
  }

  /** When the next request comes, if none is under way; undefined where none will. */
  get nextAtMs(): Millis | undefined {
    this.#firstTurnAtMs ??= least(this.#paused.values());
    const atMs = Math.min(this.#nextTimed?.atMs ?? Infinity, this.#firstTurnAtMs);
    return Number.isFinite(atMs) ? atMs : undefined;
  }

  start(): void {
    const request = this.#nextTimed;
    if (request === undefined) return;
    this.#clock.setTimer(request.atMs - this.#clock.now(), () => {
      this.#next += 1;
      this.#nextTimed = this.#timed.at(this.#next);
      this.#deliver(request);
      this.start();
    });
  }

  /** Must be called when a request has ended, even if it failed: its session may continue. */
  over(request: TraceRequest): void {
    const turn = this.#turns.get(request);
    if (turn === undefined) return;
    this.#turns.delete(request);
    const now = this.#clock.now();
    const atMs = turn.thinkMs === undefined ? Math.max(now, turn.atMs) : now + turn.thinkMs;
    const moved = { ...turn, atMs };
    const after = this.#turns.get(turn);
    if (after !== undefined) this.#turns.set(moved, after);
    this.#paused.set(moved, atMs);
    this.#firstTurnAtMs = undefined;
    this.#clock.setTimer(atMs - now, () => {
      this.#paused.delete(moved);
      this.#firstTurnAtMs = undefined;
      this.#deliver(moved);
    });
  }

  #deliver(request: TraceRequest): void {
    this.#left -= 1;
    this.#arrive(request);
  }
}

function least(times: Iterable<Millis>): Millis {
  let first = Number.POSITIVE_INFINITY;
  for (const atMs of times) if (atMs < first) first = atMs;
  return first;
}

/** Fills `turns` with the turn after each request; returns the requests that are no turn. */
function firstOfSessions(
  requests: TraceRequests,
  turns: Map<TraceRequest, TraceRequest>,
): readonly TraceRequest[] {
  const lastOf = new Map<string, TraceRequest>();
  return [...requests].filter((request) => {
    const { session } = request;
    if (session === undefined) return true;
    const before = lastOf.get(session);
    lastOf.set(session, request);
    if (before !== undefined) turns.set(before, request);
    return before === undefined;
  });
}
