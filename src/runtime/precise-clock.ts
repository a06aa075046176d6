import { performance } from 'node:perf_hooks';
import type { Clock, Millis, Timer } from '../framework/runtime.ts';
import { nodeClock } from './node-clock.ts';

/** Node's timers may come this late: their unit is a whole millisecond, and so is that of the poll under them. */
const COARSE_MS = 2;
/** Of a core at most goes into looking at the time again and again. */
const SPIN_SHARE = 0.2;
/** How much of that may be saved up. */
const SPIN_SAVED_MS_MAX = 100;

/**
 * The machine's own time with timers that come within microseconds, where those of `nodeClock` come up to two
 * milliseconds late: the end of each wait is spent turning the event loop, and everything else gets its turn meanwhile.
 * When the share of a core set aside for that is used up, timers are as coarse as any. They keep the process alive
 * only through that last moment.
 */
export function preciseClock(): Clock {
  const coarse = nodeClock();
  const spinner = new Spinner();
  return {
    now: () => coarse.now(),
    wallTime: () => coarse.wallTime(),
    setTimer: (delay, callback) => new PreciseTimer(delay, callback, { coarse, spinner }),
  };
}

interface Means {
  readonly coarse: Clock;
  readonly spinner: Spinner;
}

class PreciseTimer implements Timer {
  readonly due: Millis;
  readonly callback: () => void;
  readonly #means: Means;
  #waiting: Timer | undefined;

  constructor(delay: Millis, callback: () => void, means: Means) {
    this.due = performance.now() + Math.max(0, delay);
    this.callback = callback;
    this.#means = means;
    if (delay > COARSE_MS)
      this.#waiting = means.coarse.setTimer(delay - COARSE_MS, this.#nearlyDue);
    else this.#nearlyDue();
  }

  cancel(): void {
    this.#waiting?.cancel();
    this.#means.spinner.remove(this);
  }

  readonly #nearlyDue = (): void => {
    const { coarse, spinner } = this.#means;
    if (spinner.affordable()) spinner.add(this);
    else this.#waiting = coarse.setTimer(this.due - performance.now(), this.callback);
  };
}

/** Turns the event loop while any of its timers is about to be due. */
class Spinner {
  readonly #timers = new Set<PreciseTimer>();
  #turnedAt: Millis = 0;
  #savedMs: Millis = SPIN_SAVED_MS_MAX;
  #savedAt: Millis = performance.now();

  affordable(): boolean {
    const now = performance.now();
    const earnedMs = SPIN_SHARE * (now - this.#savedAt);
    this.#savedMs = Math.min(SPIN_SAVED_MS_MAX, this.#savedMs + earnedMs);
    this.#savedAt = now;
    return this.#savedMs > 0;
  }

  add(timer: PreciseTimer): void {
    this.#timers.add(timer);
    if (this.#timers.size > 1) return;
    this.#turnedAt = performance.now();
    setImmediate(this.#turn);
  }

  remove(timer: PreciseTimer): void {
    this.#timers.delete(timer);
  }

  readonly #turn = (): void => {
    const now = performance.now();
    this.#savedMs -= now - this.#turnedAt;
    this.#turnedAt = now;
    for (const timer of this.#timers) {
      if (timer.due > now) continue;
      this.#timers.delete(timer);
      timer.callback();
    }
    if (this.#timers.size > 0) setImmediate(this.#turn);
  };
}
