import type { Clock, Millis } from '../../framework/runtime.ts';

/** How much may be used at once after a pause. */
const BURST_MS: Millis = 100;

/**
 * Lets work take a share of the time at most. Work is measured by what it computes where the clock
 * says that: on a busy machine other processes would else use its share up, and it would be left
 * out.
 */
export class TimeShare {
  readonly #clock: Pick<Clock, 'now' | 'cpuTime'>;
  readonly #share: number;
  #leftMs: Millis = BURST_MS;
  #at: Millis;

  constructor(clock: Pick<Clock, 'now' | 'cpuTime'>, share: number) {
    this.#clock = clock;
    this.#share = share;
    this.#at = clock.now();
  }

  /** Does the work unless the time is used up. Returns whether it was done. */
  run(work: () => unknown): boolean {
    const from = this.#clock.now();
    this.#leftMs = Math.min(BURST_MS, this.#leftMs + this.#share * (from - this.#at));
    this.#at = from;
    if (this.#leftMs <= 0) return false;
    const began = this.#worked();
    try {
      return work() !== false;
    } finally {
      this.#leftMs -= this.#worked() - began;
    }
  }

  #worked(): Millis {
    return this.#clock.cpuTime?.() ?? this.#clock.now();
  }
}
