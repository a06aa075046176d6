import type { Clock, Millis, Timer } from '../../framework/runtime.ts';

/** Time as a capture says it was: it moves from record to record, and a timer fires when its record says so. */
export class ReplayClock implements Clock {
  readonly #callbacks = new Map<number, () => void>();
  #now: Millis = 0;
  #timers: number;
  #inEvent = false;

  /** `timers` were set before the first that is set here. */
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
    // What is set outside of events is not numbered in a capture either, and never fires here.
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

  /** False for a timer that was never set, or has been cancelled: then the replay has gone another way. */
  fire(number: number, at: Millis): boolean {
    const callback = this.#callbacks.get(number);
    this.#callbacks.delete(number);
    if (callback === undefined) return false;
    this.runEvent(at, callback);
    return true;
  }
}
