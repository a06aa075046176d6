import type { Clock, Millis, Timer } from '../../framework/runtime.ts';

/** Something took longer than its limit. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * Calls back once when nothing has happened for `limitMs`; never where that is 0. It waits from
 * `restart` to `pause` or `stop`. Restarting is cheap: it sets a timer only when none is set.
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

  #wait(delay: Millis): void {
    this.#timer = this.#clock.setTimer(delay, () => {
      this.#timer = undefined;
      if (this.#since === undefined) return;
      const left = this.#since + this.#limitMs - this.#clock.now();
      if (left > 0) this.#wait(left);
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
 * Runs `work` with a signal that aborts after `limitMs` or with the outer signal, also after `work`
 * has resolved. Rejects at that moment, with a TimeoutError or the reason, even if `work` goes on.
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
  const timer = limitMs > 0 ? clock.setTimer(limitMs, late) : undefined;
  const working = work(own.signal);
  working.catch(() => undefined);
  try {
    return await Promise.race([working, aborted]);
  } finally {
    timer?.cancel();
  }
}
