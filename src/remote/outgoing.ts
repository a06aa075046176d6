import type { Clock, Millis, Timer } from '../framework/runtime.ts';
import type { RequestMessage } from './messages.ts';

/**
 * A window ends early at so many bytes of block hashes: schedulers take messages of 4 MiB by
 * default.
 */
const BATCH_BYTES_MAX = 1024 * 1024;
/** Longest time that updates wait for a request to be sent with. */
const UPDATE_INTERVAL_MS = 100;

interface OutgoingOptions {
  readonly clock: Clock;
  /** Requests of this time are sent in one message; 0 sends each at once. */
  readonly batchWindowMs: Millis;
  /** Sends these requests, with the updates that there are. */
  readonly send: (requests: readonly RequestMessage[]) => void;
}

/** Requests on their way to a scheduler, sent together, and when its updates are sent. */
export class Outgoing {
  readonly #options: OutgoingOptions;
  #batch: RequestMessage[] = [];
  #batchBytes = 0;
  #begun = false;
  #flushTimer: Timer | undefined;
  #updateTimer: Timer | undefined;

  constructor(options: OutgoingOptions) {
    this.#options = options;
  }

  add(message: RequestMessage): void {
    const { clock, batchWindowMs } = this.#options;
    this.#batch.push(message);
    this.#batchBytes += message.blockHashes.length;
    if (batchWindowMs === 0 || this.#batchBytes >= BATCH_BYTES_MAX) this.#flush();
    else this.#flushTimer ??= clock.setTimer(batchWindowMs, () => this.#flush());
  }

  /** Sends at once, and from now on also where no request comes. To send can call `end`. */
  begin(): void {
    this.#begun = true;
    this.#flush();
    if (!this.#begun) return;
    this.#updateTimer = this.#options.clock.setTimer(UPDATE_INTERVAL_MS, () => this.begin());
  }

  /** Drops what is not sent yet, and sends nothing more until a request comes. */
  end(): void {
    this.#begun = false;
    this.#updateTimer?.cancel();
    this.#flushTimer?.cancel();
    this.#flushTimer = undefined;
    this.#batch = [];
    this.#batchBytes = 0;
  }

  #flush(): void {
    this.#flushTimer?.cancel();
    this.#flushTimer = undefined;
    const requests = this.#batch;
    this.#batch = [];
    this.#batchBytes = 0;
    this.#options.send(requests);
  }
}
