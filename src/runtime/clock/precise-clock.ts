import type { Clock, Millis, Timer } from '../../framework/runtime.ts';
import { nodeClock } from './node-clock.ts';

/** Node's timers fire up to this late, as they and the poll beneath count whole milliseconds. */
const COARSE_MS = 2;
/** The largest share of a core that may be spent on polling the time. */
const SPIN_SHARE = 0.2;
/** The largest amount of unused polling time that is saved for later. */
const SPIN_SAVED_MS_MAX = 100;

/**
 * Timers that fire within microseconds; `nodeClock`'s are up to 2 ms late. At the end of each wait
 * the event loop spins, and other work gets its turn; beyond a core's polling share timers are as
 * coarse as Node's. Keeps the process alive only while it spins. `coarse` has timers that fire up
 * to 2 ms late; `nextTurn` calls back in the event loop's next turn.
 */
export function preciseClock(
  coarse: Clock = nodeClock(),
  nextTurn: (callback: () => void) => void = setImmediate,
): Clock {
  const spinner = new Spinner(coarse, nextTurn);
  return {
    now: () => coarse.now(),
    wallTime: () => coarse.wallTime(),
    cpuTime: coarse.cpuTime,
    setTimer: (delay, callback) => new PreciseTimer(delay, callback, { coarse, spinner }),
  };
}

interface TimerContext {
  readonly coarse: Clock;
  readonly spinner: Spinner;
}

class PreciseTimer implements Timer {
  readonly due: Millis;
  readonly callback: () => void;
  readonly #context: TimerContext;
  #waiting: Timer | undefined;

  constructor(delay: Millis, callback: () => void, context: TimerContext) {
    this.due = context.coarse.now() + Math.max(0, delay);
    this.callback = callback;
    this.#context = context;
    if (delay > COARSE_MS)
      this.#waiting = context.coarse.setTimer(delay - COARSE_MS, this.#nearlyDue);
    else this.#nearlyDue();
  }

  cancel(): void {
    this.#waiting?.cancel();
    this.#context.spinner.remove(this);
  }

  readonly #nearlyDue = (): void => {
    const { coarse, spinner } = this.#context;
    if (spinner.affordable()) spinner.add(this);
    else this.#waiting = coarse.setTimer(this.due - coarse.now(), this.callback);
  };
}

/** Spins the event loop while one of its timers is about to be due. */
class Spinner {
  readonly #timers = new Set<PreciseTimer>();
  readonly #clock: Clock;
  readonly #nextTurn: (callback: () => void) => void;
  /** Whether a turn will come; during a turn it stays true, as the turn asks for the next. */
  #turning = false;
  #turnedAt: Millis = 0;
  #savedMs: Millis = SPIN_SAVED_MS_MAX;
  #savedAt: Millis;

  constructor(clock: Clock, nextTurn: (callback: () => void) => void) {
    this.#clock = clock;
    this.#nextTurn = nextTurn;
    this.#savedAt = clock.now();
  }

  affordable(): boolean {
    const now = this.#clock.now();
    const earnedMs = SPIN_SHARE * (now - this.#savedAt);
    this.#savedMs = Math.min(SPIN_SAVED_MS_MAX, this.#savedMs + earnedMs);
    this.#savedAt = now;
    return this.#savedMs > 0;
  }

  add(timer: PreciseTimer): void {
    this.#timers.add(timer);
    if (this.#turning) return;
    this.#turning = true;
    this.#turnedAt = this.#clock.now();
    this.#nextTurn(this.#turn);
  }

  remove(timer: PreciseTimer): void {
    this.#timers.delete(timer);
  }

  readonly #turn = (): void => {
    const now = this.#clock.now();
    this.#savedMs -= now - this.#turnedAt;
    this.#turnedAt = now;
    const due = [...this.#timers].filter((timer) => timer.due <= now);
    for (const timer of due.sort((a, b) => a.due - b.due)) {
      // An earlier callback may have cancelled it.
      if (this.#timers.delete(timer)) timer.callback();
    }
    this.#turning = this.#timers.size > 0;
    if (this.#turning) this.#nextTurn(this.#turn);
  };
}
