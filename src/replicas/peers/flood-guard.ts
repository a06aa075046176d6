import type { Clock, Millis, Timer } from '../../framework/runtime.ts';
import { type Rate, TokenBucket } from '../../runtime/clock/token-bucket.ts';

/** Sixty replicas under load send about half as much together. */
const MESSAGES_PER_SECOND = 10_000;
/** Twice as fast as a replica sends all that it knows of prompts. */
const BYTES_PER_SECOND: number = 96 * 1024 * 1024;
/** What may come at once, in seconds of the rates above: after a pause of this process. */
const BURST_SECONDS = 2;
/** How long the subject is left, at first and at most. */
const PAUSE_MS: Millis = 5000;
const PAUSE_MAX_MS: Millis = 60_000;
/** After so long without a flood the next pause is short again. */
const CALM_MS: Millis = 120_000;

export interface FloodGuardOptions {
  readonly clock: Clock;
  /** To receive nothing for so long. The reason is a sentence. */
  readonly pause: (reason: string) => void;
  readonly resume: () => void;
}

/**
 * Leaves a subject on which more messages come than replicas send. To receive a message costs time
 * also where it is dropped at once, so that a flood of the subject would slow decisions down.
 */
export class FloodGuard {
  readonly #options: FloodGuardOptions;
  readonly #messages: TokenBucket;
  readonly #bytes: TokenBucket;
  #pauseMs: Millis = PAUSE_MS;
  #pausedUntil: Millis = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(options: FloodGuardOptions) {
    this.#options = options;
    this.#messages = new TokenBucket(options.clock, rateOf(MESSAGES_PER_SECOND));
    this.#bytes = new TokenBucket(options.clock, rateOf(BYTES_PER_SECOND));
  }

  /** Counts a message of so many bytes; false where it is beyond what may come. */
  takes(bytes: number): boolean {
    if (this.#timer !== undefined) return false;
    if (this.#messages.take() && this.#bytes.take(bytes)) return true;
    this.#pause();
    return false;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #pause(): void {
    const { clock, pause, resume } = this.#options;
    const now = clock.now();
    const wasCalm = now - this.#pausedUntil > CALM_MS;
    this.#pauseMs = wasCalm ? PAUSE_MS : Math.min(PAUSE_MAX_MS, 2 * this.#pauseMs);
    this.#pausedUntil = now + this.#pauseMs;
    this.#timer = clock.setTimer(this.#pauseMs, () => {
      this.#timer = undefined;
      this.#messages.refill();
      this.#bytes.refill();
      resume();
    });
    pause(
      `more than ${MESSAGES_PER_SECOND} messages or ${BYTES_PER_SECOND / 1024 / 1024} MiB in a second came ` +
        `on the subject of the replicas; it is left for ${this.#pauseMs / 1000} s`,
    );
  }
}

function rateOf(perSecond: number): Rate {
  return { perSecond, atOnce: BURST_SECONDS * perSecond };
}
