import type { Clock, Millis, Timer } from '../../../../framework/runtime.ts';

/** An object may be edited at any pace; each edit may concern all endpoints. */
const GAP_MS: Millis = 1000;

/** Does what it is given at once, and then at most once a second the last of what it is given. */
export class Spaced {
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #next: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  run(work: () => void): void {
    if (this.#timer !== undefined) {
      this.#next = work;
      return;
    }
    this.#timer = this.#clock.setTimer(GAP_MS, () => {
      this.#timer = undefined;
      const next = this.#next;
      this.#next = undefined;
      if (next !== undefined) this.run(next);
    });
    work();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#next = undefined;
  }
}
