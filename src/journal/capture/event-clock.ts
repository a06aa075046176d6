import type { Clock, Millis, Timer } from '../../framework/runtime.ts';

/**
 * A clock that stands still during an event, so that the whole of it happens at one time that can be written down; and that
 * numbers the timers set in events and tells when they fire. Those set outside, by what feeds the core, are no concern of it.
 */
export class EventClock implements Clock {
  readonly #clock: Clock;
  readonly #onTimer: (number: number, at: Millis) => void;
  #at: Millis | undefined;
  #numbers = true;
  #timers = 0;

  constructor(clock: Clock, onTimer: (number: number, at: Millis) => void) {
    this.#clock = clock;
    this.#onTimer = onTimer;
  }

  /** Timers numbered so far. */
  get timers(): number {
    return this.#timers;
  }

  /** In whole microseconds, which are written in a few digits. */
  now(): Millis {
    return this.#at ?? Math.floor(this.#clock.now() * 1000) / 1000;
  }

  wallTime(): Millis {
    return this.#clock.wallTime();
  }

  setTimer(delay: Millis, callback: () => void): Timer {
    if (this.#at === undefined || !this.#numbers) return this.#clock.setTimer(delay, callback);
    const number = this.#timers++;
    return this.#clock.setTimer(delay, () =>
      this.during((at) => {
        this.#onTimer(number, at);
        callback();
      }),
    );
  }

  /** At one time, too, but what feeds the core is set up in it: its timers are not numbered. Not within an event. */
  settingUp<T>(setUp: (at: Millis) => T): T {
    this.#numbers = false;
    try {
      return this.during(setUp);
    } finally {
      this.#numbers = true;
    }
  }

  /** Runs an event at one time; one within another is part of it. */
  during<T>(event: (at: Millis) => T): T {
    if (this.#at !== undefined) return event(this.#at);
    const at = this.now();
    this.#at = at;
    try {
      return event(at);
    } finally {
      this.#at = undefined;
    }
  }
}
