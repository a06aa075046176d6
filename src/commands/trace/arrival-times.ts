import type { Millis } from '../../framework/runtime.ts';

/** When requests arrive. Seconds and minutes count from the first arrival. */
export interface ArrivalTimes {
  readonly perSecond: number;
  /** Requests in the fullest second, and in the fullest minute where the trace is longer. */
  readonly mostInASecond: number;
  readonly mostInAMinute: number | undefined;
  /** The share of the seconds in which none arrives. */
  readonly emptySeconds: number;
  /** Between two arrivals that follow one another, and when it begins. */
  readonly longestPauseMs: Millis;
  readonly longestPauseAtMs: Millis;
}

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;

/** Takes arrivals, whose times rise. */
export class ArrivalCounts {
  readonly #seconds = new FullestWindow(SECOND_MS);
  readonly #minutes = new FullestWindow(MINUTE_MS);
  #requests = 0;
  #firstMs = 0;
  #lastMs = 0;
  #longestPauseMs = 0;
  #longestPauseAtMs = 0;

  add(arrivedMs: Millis): void {
    if (this.#requests === 0) this.#firstMs = arrivedMs;
    const atMs = arrivedMs - this.#firstMs;
    if (atMs - this.#lastMs > this.#longestPauseMs) {
      this.#longestPauseMs = atMs - this.#lastMs;
      this.#longestPauseAtMs = this.#lastMs;
    }
    this.#requests += 1;
    this.#lastMs = atMs;
    this.#seconds.add(atMs);
    this.#minutes.add(atMs);
  }

  /** Undefined where all arrive at once. */
  times(): ArrivalTimes | undefined {
    const spanMs = this.#lastMs;
    if (spanMs === 0) return undefined;
    return {
      perSecond: (SECOND_MS * this.#requests) / spanMs,
      mostInASecond: this.#seconds.most,
      mostInAMinute: spanMs > MINUTE_MS ? this.#minutes.most : undefined,
      emptySeconds: 1 - this.#seconds.used / (Math.floor(spanMs / SECOND_MS) + 1),
      longestPauseMs: this.#longestPauseMs,
      longestPauseAtMs: this.#longestPauseAtMs,
    };
  }
}

/** How many arrive in the fullest window, and in how many windows any does. */
class FullestWindow {
  most = 0;
  used = 0;
  readonly #windowMs: Millis;
  #window = -1;
  #here = 0;

  constructor(windowMs: Millis) {
    this.#windowMs = windowMs;
  }

  add(atMs: Millis): void {
    const window = Math.floor(atMs / this.#windowMs);
    if (window !== this.#window) {
      this.#window = window;
      this.#here = 0;
      this.used += 1;
    }
    this.#here += 1;
    this.most = Math.max(this.most, this.#here);
  }
}
