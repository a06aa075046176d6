import type { BreakerState } from '../framework/replacement.ts';
import type { Clock, Millis } from '../framework/runtime.ts';

/** Failures in a row that open the breaker. */
const FAILURES_MAX = 5;
/** Time until the next trial: at first, and at most. Each failed trial doubles it. */
const OPEN_MS = 1000;
const OPEN_MS_MAX = 30_000;

/** Five failures in a row open it; then single trials decide, for which no request waits. */
export class Breaker {
  readonly #clock: Clock;
  #failures = 0;
  #openMs = OPEN_MS;
  #openUntil: Millis = Number.NEGATIVE_INFINITY;
  state: BreakerState = 'closed';

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `trial`: ask without waiting for the answer. The outcome must be recorded unless `no`. */
  admit(): 'yes' | 'trial' | 'no' {
    if (this.state === 'closed') return 'yes';
    if (this.state === 'half-open' || this.#clock.now() < this.#openUntil) return 'no';
    this.state = 'half-open';
    return 'trial';
  }

  /** For a new connection: allows a trial at once, and further ones soon. */
  allowTrial(): void {
    this.#openUntil = this.#clock.now();
    this.#openMs = OPEN_MS;
  }

  recordSuccess(): void {
    // This answers a request from before the breaker opened, not a trial.
    if (this.state === 'open') return;
    this.state = 'closed';
    this.#failures = 0;
    this.#openMs = OPEN_MS;
  }

  recordFailure(): void {
    if (this.state === 'open') return;
    this.#failures += 1;
    if (this.state === 'half-open') this.#openMs = Math.min(OPEN_MS_MAX, 2 * this.#openMs);
    else if (this.#failures < FAILURES_MAX) return;
    this.state = 'open';
    this.#openUntil = this.#clock.now() + this.#openMs;
  }
}
