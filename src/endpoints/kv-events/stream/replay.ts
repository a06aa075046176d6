import type { Clock, Millis, Timer } from '../../../framework/runtime.ts';
import { Deadline } from '../../../runtime/clock/deadline.ts';

/** The reference's figures. */
const IDLE_MS = 2000;
const TOTAL_MS = 120_000;
const BACK_OFF_MS = 100;
const ATTEMPTS_MAX = 3;
export const REPLAYS_AT_ONCE = 8;

/** Bounds the replays under way, so that not all streams replay at once after a network outage. */
export class ReplaySlots {
  #free: number;

  constructor(slots: number) {
    this.#free = slots;
  }

  take(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  release(): void {
    this.#free += 1;
  }
}

interface ReplayOptions {
  readonly clock: Clock;
  readonly slots: ReplaySlots;
  readonly request: () => void;
  /** Called when the replay takes too long, or several requests in a row bring nothing new. */
  readonly onFailed: () => void;
}

/** Requests missed batches from one publisher, repeatedly where an answer stops, until `end`. */
export class Replay {
  readonly #options: ReplayOptions;
  /** It does not count that the whole process stands still: what came meanwhile is unread. */
  readonly #limit: Deadline;
  #isLate = false;
  /** Whether the publisher has been asked; before that the replay waits for a slot. */
  requested = false;
  #attempts = 0;
  #timer: Timer | undefined;
  /** Whether a batch has come since the last request. */
  answered = false;
  /** Whether a new batch has come since the last request. */
  progressed = false;

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#limit = new Deadline(options.clock, TOTAL_MS, () => (this.#isLate = true));
    this.#limit.restart();
  }

  onBatch(): void {
    this.answered = true;
    this.#after(IDLE_MS, this.again);
  }

  /** Requests the rest, a little later. Fails after several requests without a new batch. */
  readonly again = (): void => {
    if (this.progressed) this.#attempts = 0;
    if (this.#attempts >= ATTEMPTS_MAX) this.#options.onFailed();
    else this.#after(BACK_OFF_MS, this.#request);
  };

  /** Requests the batches, once there is a slot. Also called when the publisher restarts. */
  start(): void {
    this.#attempts = 0;
    this.#request();
  }

  end(): void {
    this.#limit.stop();
    this.#timer?.cancel();
    if (this.requested) this.#options.slots.release();
  }

  readonly #request = (): void => {
    const { slots, request, onFailed } = this.#options;
    if (this.#isLate) {
      onFailed();
      return;
    }
    if (!this.requested && !slots.take()) {
      this.#after(BACK_OFF_MS, this.#request);
      return;
    }
    this.requested = true;
    this.answered = false;
    this.progressed = false;
    this.#attempts += 1;
    this.#after(IDLE_MS, this.again);
    request();
  };

  #after(delayMs: Millis, then: () => void): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.setTimer(delayMs, then);
  }
}
