import { countedTokens, type InFlightView } from '../../../framework/cycle-facts.ts';
import type { Endpoint } from '../../../framework/endpoint.ts';
import { ENGINE_COUNT } from '../../../framework/endpoint-attributes.ts';
import type { Millis } from '../../../framework/runtime.ts';

/**
 * Saturation: the load over the load that is wanted. From 1 on, one request more would wait at the
 * servers instead of here.
 */

/** The stages that a request may go through at different servers. */
export const STAGES = ['prefill', 'decode'] as const;
export type Stage = (typeof STAGES)[number];

/** What is asked: endpoints at a time; `stage` where they were chosen by their role. */
interface Asked {
  readonly endpoints: readonly Endpoint[];
  readonly at: Millis;
  readonly stage?: Stage | undefined;
}

export interface Detector {
  /** Not negative, and possibly above 1; 1 without endpoints. */
  saturation(asked: Asked): number;
  /** How many of the endpoints have metrics that are too old; left out where none are read. */
  stale?(asked: Asked): number;
  /** The detectors whose highest saturation it is; left out for one that measures itself. */
  readonly combines?: readonly NamedDetector[];
}

export interface UtilizationConfig {
  readonly queueDepthThreshold: number;
  readonly kvCacheUtilThreshold: number;
  readonly metricsStalenessThreshold: Millis;
  readonly stalenessPolicy?: 'saturated' | 'ignore';
}

/**
 * The mean over the endpoints of the fuller one of queue and KV memory. A queue has what the last
 * sample saw and what was sent there since. With samples that are too old an endpoint counts as
 * full when it has as many of our requests as the last sample saw running, or one: while all
 * samples are missing, requests go on slowly instead of not at all. The bound of the queue is that of
 * each of several engines: the reference reads the queue of one.
 */
export function utilization(
  {
    queueDepthThreshold,
    kvCacheUtilThreshold,
    metricsStalenessThreshold,
    stalenessPolicy = 'saturated',
  }: UtilizationConfig,
  inFlight: InFlightView,
): Detector {
  const isStale = ({ metrics }: Endpoint, at: Millis): boolean =>
    at - metrics.sampledAt > metricsStalenessThreshold;
  const fullness = (endpoint: Endpoint): number => {
    const { waitingQueueSize, runningRequests, kvCacheUsage } = endpoint.metrics;
    const seen = waitingQueueSize + runningRequests;
    const sentSince = Math.max(0, inFlight.load(endpoint).requests - seen);
    const queued = waitingQueueSize + sentSince;
    // Looked up only where it matters: most of the time nothing waits, at hundreds of endpoints.
    const queueMax = queued > 0 ? queueDepthThreshold * endpoint.attribute(ENGINE_COUNT) : 1;
    return Math.max(queued / queueMax, kvCacheUsage / kvCacheUtilThreshold);
  };
  const guessed = (endpoint: Endpoint): number =>
    Math.min(1, inFlight.load(endpoint).requests / Math.max(1, endpoint.metrics.runningRequests));
  return {
    saturation({ endpoints, at }) {
      if (endpoints.length === 0) return 1;
      let [sum, count] = [0, 0];
      for (const endpoint of endpoints) {
        const stale = isStale(endpoint, at);
        if (stale && stalenessPolicy === 'ignore') continue;
        sum += stale ? guessed(endpoint) : fullness(endpoint);
        count += 1;
      }
      return count === 0 ? 0 : sum / count;
    },
    stale: ({ endpoints, at }) => endpoints.filter((endpoint) => isStale(endpoint, at)).length,
  };
}

export interface ConcurrencyConfig {
  readonly concurrencyMode: 'requests' | 'tokens' | 'hybrid';
  readonly maxConcurrency: number;
  readonly maxTokenConcurrency: number;
}

/** What this picker has in flight over what all endpoints together may have. */
export function concurrency(
  { concurrencyMode, maxConcurrency, maxTokenConcurrency }: ConcurrencyConfig,
  inFlight: InFlightView,
): Detector {
  const ofEndpoint = (endpoint: Endpoint): number => {
    const load = inFlight.load(endpoint);
    const byRequests = load.requests / maxConcurrency;
    const byTokens = countedTokens(load) / maxTokenConcurrency;
    if (concurrencyMode === 'hybrid') return Math.max(byRequests, byTokens);
    return concurrencyMode === 'tokens' ? byTokens : byRequests;
  };
  return {
    saturation({ endpoints }) {
      if (endpoints.length === 0) return 1;
      let sum = 0;
      for (const endpoint of endpoints) sum += ofEndpoint(endpoint);
      return sum / endpoints.length;
    },
  };
}

export interface BacklogConfig {
  readonly maxPendingTokens: number;
  readonly maxConcurrency: number;
}

/**
 * The saturation of the least loaded endpoint, because the next request goes there: prompt tokens
 * that are not computed, or requests in flight, for each of its engines. The mean over endpoints
 * closes a pool whose one server computes a long prompt while the others wait for work.
 */
export function backlog(
  { maxPendingTokens, maxConcurrency }: BacklogConfig,
  inFlight: InFlightView,
): Detector {
  return {
    saturation({ endpoints }) {
      let least = Number.POSITIVE_INFINITY;
      for (const endpoint of endpoints) {
        const { requests, pendingPrefillTokens } = inFlight.load(endpoint);
        const load = Math.max(requests / maxConcurrency, pendingPrefillTokens / maxPendingTokens);
        least = Math.min(least, load > 0 ? load / endpoint.attribute(ENGINE_COUNT) : 0);
      }
      return Number.isFinite(least) ? least : 1;
    },
  };
}

export interface NamedDetector {
  readonly name: string;
  readonly detector: Detector;
  /** The stages that it is asked for; left out for all. */
  readonly stages?: readonly Stage[] | undefined;
}

/** The highest of several. A stage that none of them is asked for has saturation 0. */
export function highest(detectors: readonly NamedDetector[]): Detector {
  const askedFor = ({ stage }: Asked): readonly NamedDetector[] =>
    detectors.filter(
      ({ stages }) => stage === undefined || stages === undefined || stages.includes(stage),
    );
  return {
    combines: detectors,
    saturation: (asked) =>
      askedFor(asked).reduce((most, { detector }) => Math.max(most, detector.saturation(asked)), 0),
    stale: (asked) =>
      askedFor(asked).reduce(
        (most, { detector }) => Math.max(most, detector.stale?.(asked) ?? 0),
        0,
      ),
  };
}
