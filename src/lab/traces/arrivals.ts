import type { Clock } from '../../framework/runtime.ts';
import type { TraceRequest } from './trace.ts';
import type { Workload } from './workload.ts';

/**
 * Lets the requests of a workload come: each at its time, or in a closed loop a session's first at its time and each other
 * when the answer before it has ended and its pause is over; without a pause at its time, if that is later.
 */
export class Arrivals {
  readonly #clock: Clock;
  readonly #arrive: (request: TraceRequest) => void;
  /** Those that wait for nothing but their time, in its order. */
  readonly #timed: readonly TraceRequest[];
  /** What comes after the answer to each. */
  readonly #turns = new Map<TraceRequest, TraceRequest>();
  #next = 0;
  #left: number;

  constructor(
    { requests, closedLoop = false }: Workload,
    { clock, arrive }: { readonly clock: Clock; readonly arrive: (request: TraceRequest) => void },
  ) {
    this.#clock = clock;
    this.#arrive = arrive;
    this.#left = requests.length;
    const isTurn = turnFinder(this.#turns);
    this.#timed = closedLoop ? requests.filter((each) => !isTurn(each)) : requests;
  }

  /** Requests that have not come yet. */
  get left(): number {
    return this.#left;
  }

  start(): void {
    const request = this.#timed[this.#next];
    if (request === undefined) return;
    this.#clock.setTimer(request.atMs - this.#clock.now(), () => {
      this.#next += 1;
      this.#come(request);
      this.start();
    });
  }

  /** A request that came is over, whatever became of it: the next turn of its session may come. */
  over(request: TraceRequest): void {
    const turn = this.#turns.get(request);
    if (turn === undefined) return;
    this.#turns.delete(request);
    const now = this.#clock.now();
    const atMs = turn.thinkMs === undefined ? Math.max(now, turn.atMs) : now + turn.thinkMs;
    const moved = { ...turn, atMs };
    const after = this.#turns.get(turn);
    if (after !== undefined) this.#turns.set(moved, after);
    this.#clock.setTimer(atMs - now, () => this.#come(moved));
  }

  #come(request: TraceRequest): void {
    this.#left -= 1;
    this.#arrive(request);
  }
}

/** Tells the turns of sessions from what begins one, and notes for each what it comes after. */
function turnFinder(turns: Map<TraceRequest, TraceRequest>): (request: TraceRequest) => boolean {
  const lastOf = new Map<string, TraceRequest>();
  return (request) => {
    const { session } = request;
    if (session === undefined) return false;
    const before = lastOf.get(session);
    lastOf.set(session, request);
    if (before !== undefined) turns.set(before, request);
    return before !== undefined;
  };
}
