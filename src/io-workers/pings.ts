import type { Clock, Timer } from '../framework/runtime.ts';

const INTERVAL_MS = 1000;
/**
 * So many unanswered pings, one after the other, mean that a thread hangs. What counts is pings and
 * not time: a process that was suspended as a whole has sent none meanwhile.
 */
const UNANSWERED_MAX = 10;

interface PingsOptions {
  readonly clock: Clock;
  readonly ping: () => void;
  /** Called once; no ping is sent after it. */
  readonly onSilent: (forMs: number) => void;
}

/** Asks another thread once a second for a sign of life, until `stop`. */
export class Pings {
  readonly #options: PingsOptions;
  #timer: Timer;
  #unanswered = 0;

  constructor(options: PingsOptions) {
    this.#options = options;
    this.#timer = this.#wait();
  }

  answered(): void {
    this.#unanswered = 0;
  }

  stop(): void {
    this.#timer.cancel();
  }

  #wait(): Timer {
    return this.#options.clock.setTimer(INTERVAL_MS, () => this.#look());
  }

  #look(): void {
    if (this.#unanswered === UNANSWERED_MAX) {
      this.#options.onSilent(UNANSWERED_MAX * INTERVAL_MS);
      return;
    }
    this.#unanswered += 1;
    this.#options.ping();
    this.#timer = this.#wait();
  }
}
