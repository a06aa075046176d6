import type { Clock, Millis, Timer } from '../../../framework/runtime.ts';

/**
 * A scrape of an endpoint that has not answered before needs a connection, and may have to be given
 * up: that is several times the work of a page. So many begin in a second: about a tenth of a core.
 */
const PER_SECOND = 500;
/** And so many without a pause: the largest pool that is measured. */
const BURST = 1000;
/** Scrapes that wait begin in such steps. */
const STEP_MS: Millis = 20;

/**
 * Says when scrapes of endpoints that have not answered may begin: else thousands of new endpoints,
 * or of such that are gone, would take most of a core. Those beyond the pace wait in turn.
 */
export class NewScrapes {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #left = BURST;
  #at: Millis;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.now();
  }

  /** Calls `begin` at once, or in its turn unless that is cancelled before. */
  begin(begin: () => void): Timer | undefined {
    this.#fill();
    if (this.#waiting.size === 0 && this.#left >= 1) {
      this.#left -= 1;
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
    this.#fill();
    for (const begin of this.#waiting) {
      if (this.#left < 1) break;
      this.#waiting.delete(begin);
      this.#left -= 1;
      begin();
    }
    if (this.#waiting.size > 0) this.#timer ??= this.#clock.setTimer(STEP_MS, this.#step);
  };

  #fill(): void {
    const now = this.#clock.now();
    this.#left = Math.min(BURST, this.#left + ((now - this.#at) * PER_SECOND) / 1000);
    this.#at = now;
  }
}
