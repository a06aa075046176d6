import type { Millis } from '../../framework/runtime.ts';

/**
 * A cache counts as lost after answers in a row that found no token where at least
 * `LOST_TOKENS_MIN` were expected: eviction does not look like that. `LOST_MISSES` are enough at one
 * engine; at several, so many as are as unlikely.
 */
const LOST_MISSES = 3;
const LOST_TOKENS_MIN = 1024;
/** The chance of such an answer at one engine that has not lost its cache, at most. */
const MISS_CHANCE = 0.05;
/** A cache in which something was found once, and that was lost so often since, is off. */
const LOSSES_MAX = 2;

/** An answer whose server says how many tokens of the prompt it had cached. */
interface ReportedAnswer {
  readonly expectedTokens: number;
  readonly cachedTokens: number;
  /** When its request was sent. */
  readonly sentAt: Millis;
  /** How many engines share the address. */
  readonly engines: number;
}

/** What the answers of an endpoint have said. */
interface Found {
  /** Whether one has found something. */
  once: boolean;
  /** Answers in a row that found nothing of what was expected. */
  misses: number;
  /** How often the cache was lost since something was found. */
  losses: number;
  lostAt: Millis;
}

/**
 * Learns from answers whether endpoints find again what was sent there. One that never found
 * anything keeps no prefixes: its engine was started so. Nor does one whose cache is lost, and lost
 * again with all that was sent since. It keeps some again once an answer says that it found one.
 */
export class FoundPrefixes {
  /** By slot. */
  readonly #found: (Found | undefined)[] = [];

  /** Returns whether this answer shows that the cache is lost. */
  answered(slot: number, answer: ReportedAnswer, at: Millis): boolean {
    const { expectedTokens, cachedTokens, sentAt, engines } = answer;
    const found = (this.#found[slot] ??= nothingFound());
    if (cachedTokens > 0) {
      found.once = true;
      found.losses = 0;
    }
    if (expectedTokens < LOST_TOKENS_MIN) return false;
    // What was sent before the cache was lost was expected to find what had been there.
    if (cachedTokens === 0 && sentAt <= found.lostAt) return false;
    found.misses = cachedTokens > 0 ? 0 : found.misses + 1;
    if (found.misses < missesWhenLost(engines)) return false;
    found.misses = 0;
    found.losses += 1;
    found.lostAt = at;
    return true;
  }

  /** Whether its answers show that it keeps no prefixes. */
  keepsNone(slot: number): boolean {
    const found = this.#found[slot];
    return found !== undefined && found.losses >= (found.once ? LOSSES_MAX : 1);
  }

  forget(slot: number): void {
    this.#found[slot] = undefined;
  }
}

function nothingFound(): Found {
  return { once: false, misses: 0, losses: 0, lostAt: Number.NEGATIVE_INFINITY };
}

/**
 * A request may come to any of the engines, and what one of them holds is missed by the others: by
 * all but one of `n`, if only one holds it.
 */
function missesWhenLost(engines: number): number {
  const chance = Math.max(MISS_CHANCE, 1 - 1 / engines);
  return Math.ceil(LOST_MISSES * (Math.log(MISS_CHANCE) / Math.log(chance)));
}
