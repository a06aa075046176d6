import type { Clock, Millis } from '../framework/runtime.ts';

/** So many failures without a success between them are no bad luck. */
const FAILURES_MAX = 5;
/** Until it is tried again: at first, doubled by each failed trial up to the other. */
const OPEN_MS = 1000;
const OPEN_MS_MAX = 30_000;

export type BreakerState = 'closed' | 'open' | 'half-open';

/**
 * Says whether a peer is worth waiting for. After five failures in a row it is not, for a second; then one trial, for which
 * nobody waits, decides.
 */
export class Breaker {
  readonly #clock: Clock;
  #failures = 0;
  #openMs = OPEN_MS;
  #openUntil: Millis = Number.NEGATIVE_INFINITY;
  #state: BreakerState = 'closed';

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** `trial`: ask, and do not wait for the answer. Whatever was let through is to be told of by `succeeded` or `failed`. */
  admit(): 'yes' | 'trial' | 'no' {
    if (this.#state === 'closed') return 'yes';
    if (this.#state === 'half-open' || this.#clock.now() < this.#openUntil) return 'no';
    this.#state = 'half-open';
    return 'trial';
  }

  /** The peer is another, or new: it may be tried at once. */
  allowTrial(): void {
    this.#openUntil = this.#clock.now();
  }

  recordSuccess(): void {
    // An answer to what was asked before it opened is no trial.
    if (this.#state === 'open') return;
    this.#state = 'closed';
    this.#failures = 0;
    this.#openMs = OPEN_MS;
  }

  recordFailure(): void {
    if (this.#state === 'open') return;
    this.#failures += 1;
    if (this.#state === 'half-open') this.#openMs = Math.min(OPEN_MS_MAX, 2 * this.#openMs);
    else if (this.#failures < FAILURES_MAX) return;
    this.#state = 'open';
    this.#openUntil = this.#clock.now() + this.#openMs;
  }
}
