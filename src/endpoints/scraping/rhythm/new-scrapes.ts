import type { Clock, Millis, Timer } from '../../../framework/runtime.ts';
import { TokenBucket } from '../../../runtime/clock/token-bucket.ts';

/**
 * A scrape of an endpoint that has not answered before needs a connection, and may have to be given
 * up: that is several times the work of a page. So many begin in a second: about a tenth of a core.
 */
const PER_SECOND = 500;
/** So many begin without a pause: it is the largest pool that is measured. */
const BURST = 1000;
/** Scrapes that wait begin in such steps. */
const STEP_MS: Millis = 20;

/**
 * Says when scrapes of endpoints that have not answered may begin. Without this, thousands of new
 * endpoints, or of endpoints that are gone, would take most of a core. Scrapes beyond the pace wait
 * and begin in the order in which they came.
 */
export class NewScrapes {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  readonly #bucket: TokenBucket;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#bucket = new TokenBucket(clock, { perSecond: PER_SECOND, atOnce: BURST });
  }

  /** Calls `begin` at once, or in its turn unless that is cancelled before. */
  begin(begin: () => void): Timer | undefined {
    if (this.#waiting.size === 0 && this.#bucket.take()) {
      begin();
      return undefined;
    }
    // The same function may wait several times.
    const own = (): void => begin();
    this.#waiting.add(own);
    this.#timer ??= this.#clock.setTimer(STEP_MS, this.#step);
    return { cancel: () => void this.#waiting.delete(own) };
  }

  stop(): void {
    this.#timer?.cancel();
    this.#waiting.clear();
  }

  readonly #step = (): void => {
    this.#timer = undefined;
    for (const begin of this.#waiting) {
      if (!this.#bucket.take()) break;
      this.#waiting.delete(begin);
      begin();
    }
    if (this.#waiting.size > 0) this.#timer ??= this.#clock.setTimer(STEP_MS, this.#step);
  };
}
