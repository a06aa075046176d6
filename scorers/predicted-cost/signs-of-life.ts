import { type Endpoint, oldAgeMs } from '../../src/framework/endpoint.ts';
import type { Millis } from '../../src/framework/runtime.ts';

/** Samples of an endpoint may be old: so many times as old as they have been. */
const TIMES_OLDEST = 2;
/** Nobody scrapes so seldom: without a sign for so long, an endpoint is unknown. */
const USUAL_MAX_MS: Millis = 30_000;
/** How old samples of an endpoint have been is forgotten so fast, a sample at a time. */
const AGE_KEPT = 0.9;

/**
 * When each endpoint was last known to work. Samples may be old because they are taken seldom, or
 * because the page of a busy server is slow: neither says that it serves nothing.
 */
export class SignsOfLife {
  /** By slot: when the newest request was sent of those that were answered. */
  readonly #answeredSentAt: (Millis | undefined)[] = [];
  /** By slot. */
  readonly #ages: (SampleAges | undefined)[] = [];

  answered({ slot }: Endpoint, sentAt: Millis): void {
    this.#answeredSentAt[slot] = Math.max(this.#answeredSentAt[slot] ?? sentAt, sentAt);
  }

  /** A request is sent while samples of some of these are old. */
  seen(endpoints: readonly Endpoint[], now: Millis): void {
    for (const { slot, metrics } of endpoints) {
      this.#ages[slot] = agesAfter(this.#ages[slot], metrics.sampledAt, now);
    }
  }

  forget({ slot }: Endpoint): void {
    this.#answeredSentAt[slot] = undefined;
    this.#ages[slot] = undefined;
  }

  /**
   * How long ago the last sign was at most, where nothing is wrong: the bound for old samples, and
   * more where those of half of the endpoints are old.
   */
  usualMs(endpoints: readonly Endpoint[], now: Millis): Millis {
    const ages = endpoints.map(({ metrics }) => now - metrics.sampledAt).filter(Number.isFinite);
    const half = ages.sort((a, b) => a - b)[Math.floor((ages.length - 1) / 2)] ?? 0;
    return Math.min(USUAL_MAX_MS, oldAgeMs(half));
  }

  /** Whether the last sign is longer ago than is usual for all, and than for this endpoint. */
  isSilent(endpoint: Endpoint, usualMs: Millis, now: Millis): boolean {
    const { slot, metrics } = endpoint;
    const { sampledAt } = metrics;
    // One that was never scraped has shown nothing of its load.
    if (!Number.isFinite(sampledAt)) return true;
    const silentMs = now - Math.max(sampledAt, this.#answeredSentAt[slot] ?? sampledAt);
    if (silentMs <= usualMs) return false;
    const oldestMs = this.#ages[slot]?.oldestMs ?? 0;
    return silentMs > Math.min(USUAL_MAX_MS, TIMES_OLDEST * oldestMs);
  }
}

/** How old the samples of an endpoint were when requests were sent. */
interface SampleAges {
  /** When the present sample was taken. */
  readonly sampledAt: Millis;
  readonly ageMs: Millis;
  /** The oldest before it: a newer one came after all, so that its age had shown nothing. */
  readonly oldestMs: Millis;
}

function agesAfter(before: SampleAges | undefined, sampledAt: Millis, now: Millis): SampleAges {
  const ageMs = now - sampledAt;
  if (before === undefined || !Number.isFinite(before.ageMs)) {
    return { sampledAt, ageMs, oldestMs: 0 };
  }
  if (before.sampledAt === sampledAt) return { ...before, ageMs };
  return { sampledAt, ageMs, oldestMs: Math.max(before.ageMs, AGE_KEPT * before.oldestMs) };
}
