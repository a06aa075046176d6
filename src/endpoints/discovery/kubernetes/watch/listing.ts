import type { Clock, Millis, Timer } from '../../../../framework/runtime.ts';

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
  /** When the last object came. */
  #visitedAt: Millis;
  #deadline: Timer | undefined;

  constructor(clock: Clock, onGivenUp: (reason: string) => void) {
    this.#clock = clock;
    this.#onGivenUp = onGivenUp;
    this.#startedAt = clock.now();
    this.#visitedAt = this.#startedAt;
    this.#watchOver();
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
    this.#visitedAt = now;
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
    this.#deadline?.cancel();
  }

  /** Gives it up without a reason. */
  stop(): void {
    this.#deadline?.cancel();
    this.#ended.abort();
  }

  /** One timer for the whole list: an object only says when it came. */
  #watchOver(): void {
    const leftMs = this.#visitedAt + LIST_TIMEOUT_MS - this.#clock.now();
    if (leftMs > 0) this.#deadline = this.#clock.setTimer(leftMs, () => this.#watchOver());
    else {
      this.giveUp(`the API server has not answered a list for ${LIST_TIMEOUT_MS / 1000} seconds`);
    }
  }
}
