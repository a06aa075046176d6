import type { Clock, Millis, Timer } from '../framework/runtime.ts';

/** The time of a capture. Its records say what the time is, and when which timer fires. */
export class ReplayClock implements Clock {
  readonly #callbacks = new Map<number, () => void>();
  #now: Millis = 0;
  #timers: number;
  #inEvent = false;

  /** `timers` is the number of timers that were set before the capture begins. */
  constructor(timers = 0) {
    this.#timers = timers;
  }

  now(): Millis {
    return this.#now;
  }

  wallTime(): Millis {
    return this.#now;
  }

  setTimer(_delay: Millis, callback: () => void): Timer {
    // Timers that are set outside events have no number in a capture, and never fire here.
    if (!this.#inEvent) return { cancel: () => undefined };
    const number = this.#timers++;
    this.#callbacks.set(number, callback);
    return { cancel: () => void this.#callbacks.delete(number) };
  }

  setUp<T>(at: Millis, setUp: () => T): T {
    this.#now = at;
    return setUp();
  }

  runEvent<T>(at: Millis, event: () => T): T {
    this.#now = at;
    this.#inEvent = true;
    try {
      return event();
    } finally {
      this.#inEvent = false;
    }
  }

  /** Fires a timer. Returns false for one that is not set: then the replay has diverged. */
  fire(number: number, at: Millis): boolean {
    const callback = this.#callbacks.get(number);
    this.#callbacks.delete(number);
    if (callback === undefined) return false;
    this.runEvent(at, callback);
    return true;
  }
}
