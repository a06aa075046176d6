import type { Millis } from '../../../framework/runtime.ts';
import type { SlotSize } from './slot-timers.ts';

/** As the reference: engines update their gauges once in a step. */
export const INTERVAL_MS = 50;
/**
 * For endpoints that do nothing. With jitter and the answer's time a sample stays younger than
 * 200 ms, from which on detectors of the reference count it as stale.
 */
const IDLE_MS = 160;
/** `IDLE_MS` for scrapes that begin together, which have no jitter. */
const IDLE_TOGETHER_MS = 176;
/** All endpoints together are read so often: a thousand at `IDLE_MS`. More endpoints share it. */
const PAGES_PER_MS = 6.25;
/**
 * The busy ones are read so often in the time that this thread has free: a hundred at `INTERVAL_MS`
 * where it has little else to do. That is about a tenth of a core. More of them, and where it has
 * less time, are read less often, down to the pace of idle ones.
 */
const BUSY_PAGES_PER_MS = 2;
/** So many scrapes may begin at once after a pause, such as a collection of the heap. */
const BURST = 8;
/** So many begin together in a pool without requests, on average and at most. */
const TOGETHER = 16;
const TOGETHER_MAX = 24;
/**
 * So many begin together where an endpoint is busy, on average and at most: a pick may wait for so
 * many pages. Where a page is due more often than these slots allow, the process has no time to become cold between two.
 */
const BUSY_TOGETHER = 4;
const BUSY_TOGETHER_MAX = 6;
const BUSY_SLOT_MS_MIN: Millis = 10;
/** Late scrapes begin at up to this multiple of the usual rate. */
const CATCH_UP = 2;

/** `adaptive`: often where requests are, seldom elsewhere. */
export type Interval = Millis | 'adaptive';

export interface RhythmOptions {
  readonly interval: Interval;
  /** See `Runtime.busyShare`. */
  readonly busyShare?: (() => number) | undefined;
}

/** How often the endpoints of a pool are scraped, by how many of them are busy. */
export class Rhythm {
  readonly #interval: Interval;
  readonly #busyShare: () => number;
  #busy = 0;
  #idle = 0;
  /** When the next scrape may begin, of any endpoint. */
  #freeAt: Millis = Number.NEGATIVE_INFINITY;

  constructor({ interval, busyShare = () => 0 }: RhythmOptions) {
    this.#interval = interval;
    this.#busyShare = busyShare;
  }

  /** An endpoint has come (1), has gone (-1), or is counted otherwise from now on (both). */
  count(isBusy: boolean, change: 1 | -1): void {
    if (isBusy) this.#busy += change;
    else this.#idle += change;
  }

  /** The time between two scrapes of an endpoint. A fixed interval is what it says. */
  intervalMs(isBusy: boolean): Millis {
    if (this.#interval !== 'adaptive') return this.#interval;
    const atLeastMs = this.#busy === 0 ? IDLE_TOGETHER_MS : IDLE_MS;
    const idleMs = Math.max(atLeastMs, (this.#busy + this.#idle) / PAGES_PER_MS);
    if (!isBusy || this.#busy === 0) return idleMs;
    const pagesPerMs = BUSY_PAGES_PER_MS * (1 - this.#busyShare());
    return Math.min(idleMs, Math.max(INTERVAL_MS, this.#busy / pagesPerMs));
  }

  /**
   * Scrapes of one slot begin together; undefined where each begins by itself, as those of idle
   * endpoints beside busy ones do. A wake-up of the process takes longer than a page, and in a pool
   * without requests no pick waits for them. The interval is a whole number of slots, so that an
   * endpoint comes again just after it.
   */
  slot(isBusy: boolean): SlotSize | undefined {
    if (this.#interval !== 'adaptive') return undefined;
    if (this.#busy === 0) return this.#slotFor(this.#idle, TOGETHER, TOGETHER_MAX);
    const slot = this.#slotFor(this.#busy, BUSY_TOGETHER, BUSY_TOGETHER_MAX);
    return isBusy && slot.ms >= BUSY_SLOT_MS_MIN ? slot : undefined;
  }

  #slotFor(endpoints: number, together: number, callbacksMax: number): SlotSize {
    const slots = Math.max(1, Math.round(endpoints / together));
    return { ms: this.intervalMs(this.#busy > 0) / slots, callbacksMax };
  }

  /**
   * How long a scrape that is due has to wait, so that not all begin, and answer, in one turn of
   * the event loop, in which a pick would wait for them. Takes the place of the scrape.
   */
  waitMs(now: Millis): Millis {
    const perMs = this.#busy / this.intervalMs(true) + this.#idle / this.intervalMs(false);
    const gapMs = 1 / (CATCH_UP * perMs);
    const burst = this.#busy > 0 ? BURST : TOGETHER_MAX - 1;
    const at = Math.max(this.#freeAt, now - burst * gapMs);
    this.#freeAt = at + gapMs;
    return Math.max(0, at - now);
  }
}
