import type { Clock, Millis, Timer } from '../../framework/runtime.ts';

/** One timer for all that wait: it fires when the oldest has waited for as long as is allowed. */
export class LongestWait {
  /** The real clock: a capture must not number this timer. */
  readonly #clock: Clock;
  readonly #end: () => void;
  #timer: Timer | undefined;

  constructor(clock: Clock, end: () => void) {
    this.#clock = clock;
    this.#end = end;
  }

  /**
   * Has no effect while the timer is set: a request that comes later does not end its wait earlier.
   */
  endsAt(at: Millis): void {
    if (this.#timer !== undefined) return;
    // In whole milliseconds: a sum of fractions may come out a little before the end.
    const delay = Math.max(0, Math.ceil(at - this.#clock.now()));
    this.#timer = this.#clock.setTimer(delay, () => {
      this.#timer = undefined;
      this.#end();
    });
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
