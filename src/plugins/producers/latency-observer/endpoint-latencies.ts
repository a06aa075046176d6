import type { LatencyAnchors } from '../../../framework/cycle-facts.ts';
import type { Millis } from '../../../framework/runtime.ts';

export interface ObserverConfig {
  readonly intervalDuration: Millis;
  /** Observations that a bucket keeps at most. */
  readonly windowSize: number;
  readonly maxObservationAge: Millis;
  /** Newest observations from which the anchors under load are computed, at most. */
  readonly maxRequests: number;
  readonly minRequests: number;
  readonly lowPercentile: number;
  readonly typicalPercentile: number;
  readonly bucketDuration: Millis;
  readonly bucketHistorySize: number;
}

interface Observation {
  readonly ttftMs: Millis;
  /** Requests in flight at the endpoint when this one was sent, without it. */
  readonly requests: number;
  readonly at: Millis;
}

/** The percentile of the quickest, for the time without load. */
const FLOOR = 0.1;
/** The requests in flight at a percentile are the mean of this far around it. */
const BAND = 0.1;

/** The times to the first token that were observed at one endpoint, and what follows from them. */
export class EndpointLatencies {
  readonly #config: ObserverConfig;
  readonly #newest: Observation[] = [];
  #count = 0;
  #bucket: Millis[] = [];
  #bucketStart: Millis;
  /** The floor of each past bucket with requests, ascending. */
  readonly #floors: Millis[] = [];
  #anchors: LatencyAnchors | undefined;
  #computedAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(config: ObserverConfig, now: Millis) {
    this.#config = config;
    this.#bucketStart = now;
  }

  add(observation: Observation): void {
    this.#closeBucket(observation.at);
    const { maxRequests, windowSize } = this.#config;
    this.#newest.push(observation);
    if (this.#newest.length > maxRequests) this.#newest.shift();
    this.#bucket.push(observation.ttftMs);
    if (this.#bucket.length > windowSize) this.#bucket.shift();
    this.#count += 1;
  }

  /** As of at most `intervalDuration` ago. Undefined while too little is known for a floor. */
  anchors(now: Millis): LatencyAnchors | undefined {
    if (now - this.#computedAt < this.#config.intervalDuration) return this.#anchors;
    this.#closeBucket(now);
    this.#computedAt = now;
    this.#anchors = this.#compute(now);
    return this.#anchors;
  }

  /** As the reference names it, in seconds. What is not known yet is left out. */
  describe(now: Millis): Readonly<Record<string, number>> {
    const last = this.#newest.at(-1);
    const anchors = this.anchors(now);
    return {
      observations: this.#count,
      recentN: this.#newest.length,
      ...(last && { lastTtftSeconds: last.ttftMs / 1000, lastInflightAtDispatch: last.requests }),
      ...(anchors && {
        floorSeconds: anchors.floorMs / 1000,
        lowTtftSeconds: anchors.low.ttftMs / 1000,
        highTtftSeconds: anchors.typical.ttftMs / 1000,
        inflightAtLow: anchors.low.requests,
        inflightAtHigh: anchors.typical.requests,
      }),
    };
  }

  #compute(now: Millis): LatencyAnchors | undefined {
    const { maxObservationAge, minRequests, lowPercentile, typicalPercentile } = this.#config;
    if (this.#count < minRequests) return undefined;
    const recent = this.#newest
      .filter(({ at }) => now - at <= maxObservationAge)
      .toSorted((a, b) => a.ttftMs - b.ttftMs);
    const times = recent.map(({ ttftMs }) => ttftMs);
    const floorMs = percentile(this.#floors, FLOOR) || percentile(times, FLOOR);
    if (floorMs === 0) return undefined;
    const at = (percent: number): LatencyAnchors['low'] => ({
      ttftMs: percentile(times, percent / 100),
      requests: meanRequests(recent, percent / 100),
    });
    const low = at(lowPercentile);
    const typical = at(typicalPercentile);
    const calibrated =
      recent.length >= minRequests && typical.requests > 0 && typical.ttftMs > floorMs;
    return { floorMs, low, typical, calibrated };
  }

  #closeBucket(now: Millis): void {
    const { bucketDuration, bucketHistorySize } = this.#config;
    if (now - this.#bucketStart < bucketDuration) return;
    if (this.#bucket.length > 0) {
      this.#floors.push(
        percentile(
          this.#bucket.toSorted((a, b) => a - b),
          FLOOR,
        ),
      );
      this.#floors.sort((a, b) => a - b);
      // As there: the slowest goes, not the oldest, so that one slow minute is forgotten.
      if (this.#floors.length > bucketHistorySize) this.#floors.pop();
    }
    this.#bucket = [];
    this.#bucketStart = now;
  }
}

/** Interpolated; 0 of nothing. `sorted` is ascending. */
function percentile(sorted: readonly number[], share: number): number {
  const position = share * (sorted.length - 1);
  const below = Math.max(0, Math.floor(position));
  const value = sorted[below] ?? 0;
  const next = sorted[below + 1] ?? value;
  return value + (position - below) * (next - value);
}

function meanRequests(sorted: readonly Observation[], share: number): number {
  const last = sorted.length - 1;
  const from = Math.max(0, Math.floor((share - BAND) * last));
  const to = Math.min(last, Math.floor((share + BAND) * last));
  const band = sorted.slice(from, to + 1);
  return band.reduce((sum, { requests }) => sum + requests, 0) / Math.max(1, band.length);
}
