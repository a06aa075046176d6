import type { Endpoint } from '../../src/framework/endpoint.ts';
import type { Outcome, Routed } from '../../src/framework/observer.ts';
import type { Millis } from '../../src/framework/runtime.ts';

/** How long one failure counts against an endpoint; the time doubles with each failure in a row. */
const SUSPECT_MS = 500;
/** With 8 s at most, an endpoint of a pool that failed as a whole is used 10 s after it is back. */
const STREAK_MAX = 5;

interface FailureStreak {
  readonly failures: number;
  /** When the last of them was seen, without those of requests that were sent before it. */
  readonly failedAt: Millis;
  readonly suspectUntil: Millis;
}

/** The endpoints whose last requests failed. */
export class FailureStreaks {
  /** By slot. */
  readonly #streaks: (FailureStreak | undefined)[] = [];

  ended({ endpoint: { slot }, at: sentAt }: Routed, at: Millis, outcome: Outcome): void {
    if (outcome === 'completed') this.#streaks[slot] = undefined;
    if (outcome !== 'failed') return;
    const known = this.#streaks[slot];
    // A crash ends all that is under way at once: only what was sent since is one more failure.
    const isSame = known !== undefined && sentAt <= known.failedAt;
    const failures = isSame ? known.failures : Math.min((known?.failures ?? 0) + 1, STREAK_MAX);
    const failedAt = isSame ? known.failedAt : at;
    const suspectUntil = at + SUSPECT_MS * 2 ** (failures - 1);
    this.#streaks[slot] = { failures, failedAt, suspectUntil };
  }

  isSuspect({ slot }: Endpoint, now: Millis): boolean {
    return now < (this.#streaks[slot]?.suspectUntil ?? 0);
  }

  forget({ slot }: Endpoint): void {
    this.#streaks[slot] = undefined;
  }
}
