import { invariant } from '../../framework/error.ts';
import type { Clock, Millis, Timer } from '../../framework/runtime.ts';

/**
 * A clock that stands still during an event, so that the whole event happens at one time. It
 * numbers the timers that are set during events, from 0, and reports when they fire, so that a
 * capture can be replayed. Timers that are set outside events, such as those of scrapers, have no
 * number.
 */
export class EventClock implements Clock {
  readonly #clock: Clock;
  readonly #onTimer: (timer: number, at: Millis) => void;
  readonly #onError: (error: unknown) => void;
  #at: Millis = Number.NaN;
  /** Events that have begun and not ended: an event within another is part of it. */
  #depth = 0;
  #settingUp = false;
  #timers = 0;
  #afterEvent: (() => void) | undefined;

  /** `onError` gets what a timer throws. Without it, a real clock would end the process. */
  constructor(
    clock: Clock,
    onTimer: (timer: number, at: Millis) => void,
    onError: (error: unknown) => void = rethrow,
  ) {
    this.#clock = clock;
    this.#onTimer = onTimer;
    this.#onError = onError;
  }

  /** Calls `look` after each event. To be called once. What `look` does is another event. */
  observeEvents(look: () => void): void {
    invariant(
      this.#afterEvent === undefined,
      'what waits is looked at by one part after each event',
    );
    this.#afterEvent = look;
  }

  /** The number of timers that have a number. */
  get timers(): number {
    return this.#timers;
  }

  now(): Millis {
    return this.#depth > 0 ? this.#at : this.#clock.now();
  }

  wallTime(): Millis {
    return this.#clock.wallTime();
  }

  setTimer(delay: Millis, callback: () => void): Timer {
    if (this.#depth === 0 || this.#settingUp) {
      return this.#clock.setTimer(delay, () => {
        try {
          callback();
        } catch (error) {
          this.#onError(error);
        }
      });
    }
    const timer = this.#timers++;
    return this.#clock.setTimer(delay, () => {
      const at = this.begin();
      try {
        this.#onTimer(timer, at);
        callback();
      } catch (error) {
        this.#onError(error);
      } finally {
        this.end();
      }
    });
  }

  /** Begins an event and returns its time. Each call needs one of `end`, also after an error. */
  begin(): Millis {
    if (this.#depth === 0) this.#at = this.#clock.now();
    this.#depth += 1;
    return this.#at;
  }

  end(): void {
    this.#depth -= 1;
    if (this.#depth === 0) this.#afterEvent?.();
  }

  /**
   * Runs `setUp` as an event whose timers have no number, because they belong to plugins that are
   * made in it. Must not be called within an event.
   */
  setUp(setUp: (at: Millis) => void): void {
    this.#settingUp = true;
    const at = this.begin();
    try {
      setUp(at);
    } finally {
      // What is looked at after it is an event of its own, whose timers a capture has.
      this.#settingUp = false;
      this.end();
    }
  }
}

function rethrow(error: unknown): never {
  throw error;
}
