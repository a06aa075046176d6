import type { Millis } from '../../../framework/runtime.ts';

/** Between two tries to connect, at first and at most. */
const GAP_MS: Millis = 500;
const GAP_MS_MAX: Millis = 30_000;
/** A connection that lasted so long did not end for a reason that will end the next one. */
const LASTING_MS: Millis = 60_000;

/**
 * When to connect again: soon after a connection that lasted, and each time later after one that
 * ended soon, so that a server that accepts connections and then fails costs little time and few
 * lines of the log.
 */
export class RedialPace {
  #gapMs = GAP_MS;
  #dialedAt: Millis = Number.NEGATIVE_INFINITY;
  #connectedAt: Millis | undefined;

  /** How long to wait before the connection that is tried next. */
  nextIn(now: Millis): Millis {
    this.#ended(now);
    const waitMs = Math.max(0, this.#dialedAt + this.#gapMs - now);
    this.#dialedAt = now + waitMs;
    return waitMs;
  }

  connected(now: Millis): void {
    this.#connectedAt = now;
  }

  #ended(now: Millis): void {
    if (this.#connectedAt === undefined) return;
    const hasLasted = now - this.#connectedAt >= LASTING_MS;
    this.#gapMs = hasLasted ? GAP_MS : Math.min(GAP_MS_MAX, 2 * this.#gapMs);
    this.#connectedAt = undefined;
  }
}
