import type { Clock, Millis, Timer } from '../../framework/runtime.ts';

export interface OpenReservationsOptions {
  /** The real clock, not that of events: a capture must not number the sweeps. */
  readonly clock: Clock;
  /** A reservation that is still open at this age is released. */
  readonly maxAgeMs: Millis;
  /** Called after each sweep that has released something. */
  readonly onExpired?: ((released: number) => void) | undefined;
}

/** What the sweep needs to know of a routed request. */
export interface OpenReservation {
  readonly at: Millis;
  /** The reservations made just before and after it. Only `OpenReservations` sets them. */
  older: OpenReservation | undefined;
  newer: OpenReservation | undefined;
  /** Releases the reservation, as if the client had gone. */
  expire(): void;
}

/** The least time between sweeps: many reservations of one gateway expire at almost one time. */
const SWEEP_MS_MIN = 1000;

/**
 * The requests whose end has not been seen, oldest first. A gateway that vanishes never reports an
 * end, so a sweep releases what is older than any request can be.
 */
export class OpenReservations {
  readonly maxAgeMs: Millis;
  readonly #options: OpenReservationsOptions;
  #oldest: OpenReservation | undefined;
  #newest: OpenReservation | undefined;
  #timer: Timer | undefined;
  #expired = 0;

  constructor(options: OpenReservationsOptions) {
    this.#options = options;
    this.maxAgeMs = options.maxAgeMs;
  }

  /** How many reservations all sweeps have released. */
  get expired(): number {
    return this.#expired;
  }

  /** To be called in the order of `at`. */
  add(reservation: OpenReservation): void {
    reservation.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = reservation;
    else this.#newest.newer = reservation;
    this.#newest = reservation;
    if (this.#timer === undefined) this.#wait(this.maxAgeMs);
  }

  delete(reservation: OpenReservation): void {
    const { older, newer } = reservation;
    if (older === undefined && this.#oldest !== reservation) return;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    // What V8 has moved to its old generation would keep its neighbours in the list alive until a
    // full collection.
    reservation.older = undefined;
    reservation.newer = undefined;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** One timer at most: what is released may make room for requests that are added meanwhile. */
  #wait(delayMs: Millis): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.setTimer(delayMs, () => this.#sweep());
  }

  #sweep(): void {
    const { clock, maxAgeMs, onExpired } = this.#options;
    const now = clock.now();
    this.#timer = undefined;
    let released = 0;
    for (let reservation = this.#oldest; reservation !== undefined; reservation = this.#oldest) {
      const leftMs = reservation.at + maxAgeMs - now;
      if (leftMs > 0) {
        this.#wait(Math.max(SWEEP_MS_MIN, leftMs));
        break;
      }
      this.delete(reservation);
      reservation.expire();
      released += 1;
    }
    this.#expired += released;
    if (released > 0) onExpired?.(released);
  }
}
