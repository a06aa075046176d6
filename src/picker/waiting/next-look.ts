import type { Clock, Millis, Timer } from '../../framework/runtime.ts';

/** One timer for all that ask for another look: the earliest time counts. */
export class NextLook {
  readonly #clock: Clock;
  readonly #look: () => void;
  #timer: Timer | undefined;
  #at: Millis = 0;

  constructor(clock: Clock, look: () => void) {
    this.#clock = clock;
    this.#look = look;
  }

  /** Never calls back within this call. */
  after(delayMs: Millis): void {
    const at = this.#clock.now() + delayMs;
    if (this.#timer !== undefined && this.#at <= at) return;
    this.#timer?.cancel();
    this.#at = at;
    this.#timer = this.#clock.setTimer(delayMs, () => {
      this.#timer = undefined;
      this.#look();
    });
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
