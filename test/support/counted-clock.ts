import type { Clock, Millis, Timer } from '../../src/framework/runtime.ts';

/** A clock that knows how many of its timers have neither fired nor been cancelled. */
export class CountedClock implements Clock {
  readonly #clock: Clock;
  readonly #open = new Set<Timer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get openTimers(): number {
    return this.#open.size;
  }

  now(): Millis {
    return this.#clock.now();
  }

  wallTime(): Millis {
    return this.#clock.wallTime();
  }

  setTimer(delay: Millis, callback: () => void): Timer {
    const set = this.#clock.setTimer(delay, () => {
      this.#open.delete(timer);
      callback();
    });
    const timer: Timer = {
      cancel: () => {
        this.#open.delete(timer);
        set.cancel();
      },
    };
    this.#open.add(timer);
    return timer;
  }
}
