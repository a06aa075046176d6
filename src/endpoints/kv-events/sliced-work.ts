import type { Clock, Timer } from '../../framework/runtime.ts';

/** The bytes of calls that wait, before the work is finished in one go: memory has a bound. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024;
/** What a call takes besides what it keeps: a flood of empty messages must have a bound, too. */
const CALL_BYTES = 256;
/** A slice takes about two milliseconds: work takes no more than a fifth of the process. */
const PAUSE_MS = 8;

/**
 * Does work in slices, between which other work gets a turn, and keeps the order: a call that comes
 * meanwhile waits until the work is done. The first slice is done at once.
 */
export class SlicedWork {
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  #slices: Iterator<void> | undefined;
  #timer: Timer | undefined;
  #waiting: { readonly call: () => void; readonly bytes: number }[] = [];
  /** How many of them have been called: to remove each at once would move all others. */
  #called = 0;
  #waitingBytes = 0;

  /** `onError` gets what a later slice throws; what the first one throws is thrown by `start`. */
  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#clock = clock;
    this.#onError = onError;
  }

  /** Calls that wait. */
  get waiting(): number {
    return this.#waiting.length - this.#called;
  }

  /** Finishes the work before it, and starts this. */
  start(slices: Iterator<void>): void {
    this.finish();
    if (slices.next().done !== true) this.#continueLater(slices);
  }

  /**
   * Calls `call` now, or when the work is done. `bytes` is the memory that `call` keeps until then.
   */
  enter(call: () => void, bytes = 0): void {
    if (this.#slices === undefined && this.waiting === 0) {
      call();
      return;
    }
    this.#waiting.push({ call, bytes: bytes + CALL_BYTES });
    this.#waitingBytes += bytes + CALL_BYTES;
    if (this.#waitingBytes < WAITING_BYTES_MAX) return;
    this.finish();
    this.#callWaiting();
  }

  /** Does the rest of the work at once. */
  finish(): void {
    while (this.#slices !== undefined) this.#step(this.#slices);
  }

  /** Leaves the rest of the work undone. */
  cancel(): void {
    this.#timer?.cancel();
    this.#slices = undefined;
  }

  close(): void {
    this.cancel();
    this.#waiting = [];
    this.#called = 0;
    this.#waitingBytes = 0;
  }

  /** A clock whose timers wait for the work, and for the calls that wait before them. */
  inTurn(): Clock {
    const clock = this.#clock;
    return {
      now: () => clock.now(),
      wallTime: () => clock.wallTime(),
      cpuTime: clock.cpuTime,
      setTimer: (delayMs, callback) => {
        let isCancelled = false;
        const timer = clock.setTimer(delayMs, () =>
          this.enter(() => {
            if (!isCancelled) callback();
          }),
        );
        return {
          cancel: () => {
            isCancelled = true;
            timer.cancel();
          },
        };
      },
    };
  }

  #continueLater(slices: Iterator<void>): void {
    this.#slices = slices;
    this.#timer = this.#clock.setTimer(PAUSE_MS, () => {
      this.#step(slices);
      if (this.#slices === undefined) this.#callWaiting();
      else this.#continueLater(slices);
    });
  }

  #step(slices: Iterator<void>): void {
    try {
      if (slices.next().done !== true) return;
      this.cancel();
    } catch (error) {
      this.cancel();
      this.#onError(error);
    }
  }

  /** A call may begin other work. Then the calls behind it wait for that work. */
  #callWaiting(): void {
    while (this.#slices === undefined) {
      const next = this.#waiting[this.#called];
      if (next === undefined) break;
      this.#called += 1;
      this.#waitingBytes -= next.bytes;
      next.call();
    }
    this.#waiting.splice(0, this.#called);
    this.#called = 0;
  }
}
