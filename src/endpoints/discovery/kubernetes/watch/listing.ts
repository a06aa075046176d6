import type { Clock, Millis } from '../../../../framework/runtime.ts';
import { Deadline } from '../../../../runtime/clock/deadline.ts';

/** A server from which no object of a list comes within this time is asked again. */
const LIST_TIMEOUT_MS = 60_000;
/**
 * A server whose list has not ended after this time is asked again, too: servers let a list be read
 * on for 5 to 15 minutes.
 */
const LIST_MS_MAX = 600_000;

/** One list of objects, which is given up where the server takes too long. */
export class Listing {
  readonly #clock: Clock;
  readonly #onGivenUp: (reason: string) => void;
  readonly #ended = new AbortController();
  readonly #startedAt: Millis;
  /** For the next object. */
  readonly #deadline: Deadline;

  constructor(clock: Clock, onGivenUp: (reason: string) => void) {
    this.#clock = clock;
    this.#onGivenUp = onGivenUp;
    this.#startedAt = clock.now();
    this.#deadline = new Deadline(clock, LIST_TIMEOUT_MS, () =>
      this.giveUp(`the API server has not answered a list for ${LIST_TIMEOUT_MS / 1000} seconds`),
    );
    this.#deadline.restart();
  }

  /** Aborted when the list is given up or stopped. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** An object has come. Returns false where the list is given up, at the latest by this call. */
  takesMore(): boolean {
    if (this.signal.aborted) return false;
    const now = this.#clock.now();
    if (now - this.#startedAt > LIST_MS_MAX) {
      this.giveUp(`a list of the API server has not ended after ${LIST_MS_MAX / 60_000} minutes`);
      return false;
    }
    this.#deadline.restart();
    return true;
  }

  /** Without effect where it is given up or stopped already. */
  giveUp(reason: string): void {
    if (this.signal.aborted) return;
    this.stop();
    this.#onGivenUp(reason);
  }

  /** All objects have come. */
  end(): void {
    this.#deadline.stop();
  }

  /** Gives it up without a reason. */
  stop(): void {
    this.#deadline.stop();
    this.#ended.abort();
  }
}
