import type { Millis } from '../../framework/runtime.ts';

/** As the reference: engines update their gauges once in a step. */
export const INTERVAL_MS = 50;
/**
 * For endpoints that do nothing. With jitter and the answer's time a sample stays younger than
 * 200 ms, from which on detectors of the reference count it as stale.
 */
const IDLE_MS = 160;
/** All endpoints together are read so often: a thousand at `IDLE_MS`. More endpoints share it. */
const PAGES_PER_MS = 6.25;
/**
 * The busy ones are read so often: a hundred at `INTERVAL_MS`, and more of them less often, up to
 * `IDLE_MS`.
 */
const BUSY_PAGES_PER_MS = 2;
/** So many scrapes may begin at once after a pause, such as a collection of the heap. */
const BURST = 8;
/** So many begin together in a pool without requests, on average, and twice as many at most. */
const TOGETHER = 8;
/** Scrapes of a pool without requests begin up to so much earlier, to begin together. */
const SLOT_MS_MAX = 16;
/** Late scrapes begin at up to this multiple of the usual rate. */
const CATCH_UP = 2;

/** `adaptive`: often where requests are, seldom elsewhere. */
export type Interval = Millis | 'adaptive';

/** How often the endpoints of a pool are scraped, by how many of them are busy. */
export class Rhythm {
  readonly #interval: Interval;
  #busy = 0;
  #idle = 0;
  /** When the next scrape may begin, of any endpoint. */
  #freeAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(interval: Interval) {
    this.#interval = interval;
  }

  /** An endpoint has come (1), has gone (-1), or is counted otherwise from now on (both). */
  count(isBusy: boolean, change: 1 | -1): void {
    if (isBusy) this.#busy += change;
    else this.#idle += change;
  }

  /** The time between two scrapes of an endpoint. A fixed interval is what it says. */
  intervalMs(isBusy: boolean): Millis {
    if (this.#interval !== 'adaptive') return this.#interval;
    const idleMs = Math.max(IDLE_MS, (this.#busy + this.#idle) / PAGES_PER_MS);
    if (!isBusy || this.#busy === 0) return idleMs;
    return Math.min(idleMs, Math.max(INTERVAL_MS, this.#busy / BUSY_PAGES_PER_MS));
  }

  /**
   * The scrapes of so many milliseconds may begin together; 0 where each begins by itself. In a pool
   * without requests no pick waits for them, and a wake-up of the process takes as long as a page.
   */
  get slotMs(): Millis {
    if (this.#interval !== 'adaptive' || this.#busy > 0) return 0;
    return Math.min(SLOT_MS_MAX, (TOGETHER * this.intervalMs(false)) / this.#idle);
  }

  /**
   * How long a scrape that is due has to wait, so that not all begin, and answer, in one turn of
   * the event loop, in which a pick would wait for them. Takes the place of the scrape.
   */
  waitMs(now: Millis): Millis {
    const perMs = this.#busy / this.intervalMs(true) + this.#idle / this.intervalMs(false);
    const gapMs = 1 / (CATCH_UP * perMs);
    const burst = this.#busy > 0 ? BURST : 2 * TOGETHER - 1;
    const at = Math.max(this.#freeAt, now - burst * gapMs);
    this.#freeAt = at + gapMs;
    return Math.max(0, at - now);
  }
}
