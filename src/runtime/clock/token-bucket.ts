import type { Clock, Millis } from '../../framework/runtime.ts';

/** How much may be taken: in a second, and at once after a pause. */
export interface Rate {
  readonly perSecond: number;
  readonly atOnce: number;
}

/**
 * A token bucket: it begins full with `rate.atOnce` tokens, and `rate.perSecond` tokens come back
 * in a second, up to `rate.atOnce`. It has no timer: it reads the clock when something is taken.
 */
export class TokenBucket {
  readonly #clock: Pick<Clock, 'now'>;
  #rate: Rate;
  #left: number;
  #filledAt: Millis;

  constructor(clock: Pick<Clock, 'now'>, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#left = rate.atOnce;
    this.#filledAt = clock.now();
  }

  /**
   * Takes `amount` tokens and returns true. Where fewer are left it takes none and returns false.
   */
  take(amount = 1): boolean {
    const now = this.#clock.now();
    const { perSecond, atOnce } = this.#rate;
    this.#left = Math.min(atOnce, this.#left + ((now - this.#filledAt) * perSecond) / 1000);
    this.#filledAt = now;
    if (this.#left < amount) return false;
    this.#left -= amount;
    return true;
  }

  /** Makes it full at once. */
  refill(): void {
    this.#left = this.#rate.atOnce;
    this.#filledAt = this.#clock.now();
  }

  /** Changes the rate. The time since the last `take` counts with the new rate. */
  setRate(rate: Rate): void {
    this.#rate = rate;
  }
}
