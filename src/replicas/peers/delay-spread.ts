import type { Millis } from '../../framework/runtime.ts';

/** Delays of so long ago count at least, and of twice as long ago at most. */
const WINDOW_MS: Millis = 10_000;
/** A clock that is set is not a delay, and a message that is much later is as good as lost. */
const SPREAD_MS_MAX: Millis = 1000;

interface Window {
  readonly since: Millis;
  least: Millis;
  most: Millis;
}

/**
 * How much later some messages come than others. Clocks of two machines differ, so that how long a
 * message takes is not known; that some take longer is.
 */
export class DelaySpread {
  #now: Window = newWindow(Number.NEGATIVE_INFINITY);
  #before: Window = this.#now;

  /** A message has come, after so long by the clocks of both machines. */
  add(delayMs: Millis, at: Millis): void {
    if (at - this.#now.since >= WINDOW_MS) {
      this.#before = this.#now;
      this.#now = newWindow(at);
    }
    this.#now.least = Math.min(this.#now.least, delayMs);
    this.#now.most = Math.max(this.#now.most, delayMs);
  }

  /** By how much the latest message came later than the soonest; 0 before there are two. */
  get spreadMs(): Millis {
    const most = Math.max(this.#now.most, this.#before.most);
    const least = Math.min(this.#now.least, this.#before.least);
    return Math.min(SPREAD_MS_MAX, Math.max(0, most - least));
  }
}

function newWindow(since: Millis): Window {
  return { since, least: Number.POSITIVE_INFINITY, most: Number.NEGATIVE_INFINITY };
}
