import type { Millis } from '../../framework/runtime.ts';

/** So many requests are enough for a mean, and few enough to follow what changes. */
const REQUESTS_MAX = 64;

/**
 * How many tokens of their prompts the last requests were to find cached where these are computed.
 * It is what a request loses by going elsewhere, at most.
 */
export class FoundTokens {
  /** The newest at the end of a ring that `#next` goes around in. */
  readonly #tokens: number[] = [];
  #next = 0;

  add(tokens: number): void {
    this.#tokens[this.#next] = tokens;
    this.#next = (this.#next + 1) % REQUESTS_MAX;
  }

  /**
   * By how much less such requests wait in the mean for work of so many milliseconds if there is
   * another server without work. They come at any moment of it, and one waits where that is shorter
   * than computing anew, in c, what it would have found: of x / 2 it avoids (x - c)² / 2x. Where
   * nothing is known yet, all go elsewhere.
   */
  avoidedMs(workMs: Millis, perTokenMs: Millis): Millis {
    const known = this.#tokens.length;
    if (known === 0 || workMs <= 0) return workMs / 2;
    let sum = 0;
    for (const tokens of this.#tokens) sum += Math.max(0, workMs - perTokenMs * tokens) ** 2;
    return sum / (2 * workMs * known);
  }
}
