import { RECENT_MS } from '../../cost-model/queueing-delay.ts';
import type { Demand } from '../../framework/cycle-facts.ts';
import type { Millis } from '../../framework/runtime.ts';

/** After this time a request counts for 1/e. */
const MEMORY_MS = RECENT_MS;
/** The time that was seen counts as no shorter: requests that come together show no rate. */
const SEEN_MIN_MS: Millis = 1000;
/** All sums are rescaled before they grow by more than e to this power. */
const EXPONENT_MAX = 20;

interface Sums {
  requests: number;
  workMs: Millis;
}

const NONE: Demand = { requests: 0, workMs: 0 };

/**
 * Requests and work sent to each endpoint, weighted by e^(-age / 30 s). All sums are kept relative
 * to one moment, so that the passing of time changes only the factor that turns them into rates.
 */
export class RecentDemand {
  readonly #sums: (Sums | undefined)[] = [];
  #asOf: Millis = 0;
  #firstAt: Millis | undefined;

  /** By slot. Multiplied by `rate`, it is the demand per millisecond. */
  of(slot: number): Demand {
    return this.#sums[slot] ?? NONE;
  }

  rate(now: Millis): number {
    return Math.exp((this.#asOf - now) / MEMORY_MS) / MEMORY_MS;
  }

  /**
   * `rate`, corrected for a short history: of steady traffic the sums hold 1 - e^(-t / 30 s) after
   * the time t, so that `rate` alone is half of the real one after 20 s.
   */
  rateSinceStart(now: Millis): number {
    const seenMs = Math.max(SEEN_MIN_MS, now - (this.#firstAt ?? now));
    return this.rate(now) / -Math.expm1(-seenMs / MEMORY_MS);
  }

  add(slot: number, { requests, workMs }: Demand, at: Millis): void {
    this.#firstAt ??= at;
    if (at - this.#asOf > EXPONENT_MAX * MEMORY_MS) this.#rescale(at);
    const weight = Math.exp((at - this.#asOf) / MEMORY_MS);
    const sums = this.#sums[slot] ?? { requests: 0, workMs: 0 };
    sums.requests += weight * requests;
    sums.workMs += weight * workMs;
    this.#sums[slot] = sums;
  }

  forget(slot: number): void {
    this.#sums[slot] = undefined;
  }

  #rescale(at: Millis): void {
    const weight = Math.exp((this.#asOf - at) / MEMORY_MS);
    for (const sums of this.#sums) {
      if (sums === undefined) continue;
      sums.requests *= weight;
      sums.workMs *= weight;
    }
    this.#asOf = at;
  }
}
