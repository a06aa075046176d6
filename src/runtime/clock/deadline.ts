import type { Clock, Millis, Timer } from '../../framework/runtime.ts';

/** Something took longer than its limit. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** It waits in so many steps, to see in which of them this process stood still. */
const STEPS = 10;
/** What is left by rounding alone: a clock may not move in so short a time. */
const ROUNDED_MS: Millis = 0.01;

/**
 * Calls back once when nothing has happened for `limitMs`; never where that is 0. It waits from
 * `restart` to `pause` or `stop`. Restarting is cheap: it sets a timer only when none is set.
 *
 * Where this process stands still (stopped, or with its machine asleep), what has come meanwhile
 * is read only after the timers have fired. That time does not count, but for a tenth of the limit.
 */
export class Deadline {
  readonly #clock: Clock;
  readonly #limitMs: Millis;
  readonly #onPassed: () => void;
  #timer: Timer | undefined;
  /** Undefined while it does not wait. */
  #since: Millis | undefined;

  constructor(clock: Clock, limitMs: Millis, onPassed: () => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onPassed = onPassed;
  }

  restart(): void {
    this.#since = this.#clock.now();
    if (this.#timer === undefined && this.#limitMs > 0) this.#wait(this.#limitMs);
  }

  pause(): void {
    this.#since = undefined;
  }

  /** Does what `pause` does, and releases the timer. */
  stop(): void {
    this.pause();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #wait(leftMs: Millis): void {
    const stepMs = Math.min(leftMs, this.#limitMs / STEPS);
    const due = this.#clock.now() + stepMs;
    this.#timer = this.#clock.setTimer(stepMs, () => {
      this.#timer = undefined;
      if (this.#since === undefined) return;
      const now = this.#clock.now();
      this.#since = Math.min(now, this.#since + Math.max(0, now - due));
      const left = this.#since + this.#limitMs - now;
      if (left > ROUNDED_MS) this.#wait(left);
      else this.#onPassed();
    });
  }
}

interface WithinOptions {
  readonly clock: Clock;
  /** 0 is no limit. */
  readonly limitMs: Millis;
  /** Ends the work, too, with its reason. */
  readonly signal: AbortSignal;
  /** For the error, such as `the engine did not answer`. */
  readonly what: string;
}

/**
 * Runs `work` with a signal that aborts after `limitMs`, as a Deadline, or with the outer signal,
 * also after `work` has resolved. Rejects at that moment, with a TimeoutError or the reason, even if
 * `work` goes on.
 */
export async function within<T>(
  { clock, limitMs, signal, what }: WithinOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const own = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    own.signal.addEventListener('abort', () => reject(own.signal.reason as Error));
  });
  // The outer signal may abort long after the work.
  aborted.catch(() => undefined);
  signal.addEventListener('abort', () => own.abort(signal.reason), { once: true });
  const late = (): void => own.abort(new TimeoutError(`${what} within ${limitMs} ms`));
  const deadline = new Deadline(clock, limitMs, late);
  deadline.restart();
  const working = work(own.signal);
  working.catch(() => undefined);
  try {
    return await Promise.race([working, aborted]);
  } finally {
    deadline.stop();
  }
}
