import { type Endpoint, METRICS_STALE_MS } from '../src/framework/endpoint.ts';
import type { Millis } from '../src/framework/runtime.ts';

/** Samples of all endpoints may be old where they are scraped seldom: so many times as old. */
const TIMES_USUAL = 2;
/** Nobody scrapes so seldom: without a sign for so long, an endpoint is unknown. */
const USUAL_MAX_MS: Millis = 30_000;

/**
 * When each endpoint was last known to work. Samples may be old because they are taken seldom, or
 * because the page of a busy server is slow: neither says that it serves nothing.
 */
export class SignsOfLife {
  /** By slot: when the newest request was sent of those that were answered. */
  readonly #answeredSentAt: (Millis | undefined)[] = [];

  answered({ slot }: Endpoint, sentAt: Millis): void {
    this.#answeredSentAt[slot] = Math.max(this.#answeredSentAt[slot] ?? sentAt, sentAt);
  }

  forget({ slot }: Endpoint): void {
    this.#answeredSentAt[slot] = undefined;
  }

  /**
   * How long ago the last sign was at most, where nothing is wrong: the bound for old samples, and
   * more where those of half of the endpoints are old.
   */
  usualMs(endpoints: readonly Endpoint[], now: Millis): Millis {
    const ages = endpoints.map(({ metrics }) => now - metrics.sampledAt).filter(Number.isFinite);
    const half = ages.sort((a, b) => a - b)[Math.floor((ages.length - 1) / 2)] ?? 0;
    return Math.min(USUAL_MAX_MS, METRICS_STALE_MS + TIMES_USUAL * Math.max(0, half));
  }

  /** Infinite for one that was never scraped: of its load nothing is known. */
  silentMs({ slot, metrics: { sampledAt } }: Endpoint, now: Millis): Millis {
    if (!Number.isFinite(sampledAt)) return Number.POSITIVE_INFINITY;
    return now - Math.max(sampledAt, this.#answeredSentAt[slot] ?? sampledAt);
  }
}
