import type { Clock, Millis } from '../../framework/runtime.ts';

const SECOND_MS: Millis = 1000;

/** Lets so many through in a second, which begins with the first after the second before. */
export class PerSecond {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #max: number;
  #since: Millis = Number.NEGATIVE_INFINITY;
  #asked = 0;

  constructor(clock: Pick<Clock, 'now'>, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  /** Whether one more may go on. */
  take(): boolean {
    const now = this.#clock.now();
    if (now - this.#since >= SECOND_MS) {
      this.#since = now;
      this.#asked = 0;
    }
    this.#asked += 1;
    return this.#asked <= this.#max;
  }
}
