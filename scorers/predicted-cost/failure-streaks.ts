import type { Endpoint } from '../../src/framework/endpoint.ts';
import type { Outcome } from '../../src/framework/observer.ts';
import type { Millis } from '../../src/framework/runtime.ts';

/** How long one failure counts against an endpoint; the time doubles with each failure in a row. */
const SUSPECT_MS = 500;
/** With 8 s at most, an endpoint of a pool that failed as a whole is used 10 s after it is back. */
const STREAK_MAX = 5;

interface FailureStreak {
  readonly failures: number;
  readonly suspectUntil: Millis;
}

/** The endpoints whose last requests failed. */
export class FailureStreaks {
  /** By slot. */
  readonly #streaks: (FailureStreak | undefined)[] = [];

  ended({ slot }: Endpoint, at: Millis, outcome: Outcome): void {
    if (outcome === 'completed') this.#streaks[slot] = undefined;
    if (outcome !== 'failed') return;
    const failures = Math.min((this.#streaks[slot]?.failures ?? 0) + 1, STREAK_MAX);
    this.#streaks[slot] = { failures, suspectUntil: at + SUSPECT_MS * 2 ** (failures - 1) };
  }

  isSuspect({ slot }: Endpoint, now: Millis): boolean {
    return now < (this.#streaks[slot]?.suspectUntil ?? 0);
  }

  forget({ slot }: Endpoint): void {
    this.#streaks[slot] = undefined;
  }
}
