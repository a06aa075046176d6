import { type Endpoint, oldAgeMs } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { EndpointHealth } from './endpoint-health.ts';

/** How often endpoints are looked at: each time costs an endpoint's share of the requests. */
export const SILENCE_CHECK_MS: Millis = 25;
/** Scrapes that must be missing: one may be late. */
const SCRAPES_MISSING = 3;
/** Scrapes that make an endpoint suspect, which costs it little. */
const SCRAPES_LATE = 1.5;
const LATE_MS: Millis = 75;
/** The first token may be so many times later than expected. */
const TIMES_EXPECTED = 2;
/** Where answers come in one piece, nothing may come for so many times as long as usual. */
const GAPS_MISSING = 3;

/** An endpoint with its present sample. */
export interface Watched {
  readonly health: EndpointHealth;
  readonly endpoint: Endpoint;
}

interface Silence {
  /** Their scrapes are late, and nothing else shows that they work. */
  readonly suspects: readonly Endpoint[];
  /** They have answered neither requests nor scrapes for too long. */
  readonly silent: readonly EndpointHealth[];
}

const NONE: Silence = { suspects: [], silent: [] };

/**
 * Finds the endpoints that are silent while others are not. How late a sample is counts from the
 * usual sample of the pool, and by its age: where this process or the network stands still, or the
 * pool has too much to do, all are late alike.
 */
export function silenceAmong(watched: readonly Watched[], at: Millis, silenceMs: Millis): Silence {
  const scraped = watched.filter(({ endpoint }) => Number.isFinite(endpoint.metrics.sampledAt));
  const mayBeLate = scraped.some((each) => at - each.endpoint.metrics.sampledAt >= LATE_MS);
  if (!mayBeLate) return NONE;
  const usualAt = usualOf(scraped, ({ endpoint }) => endpoint.metrics.sampledAt);
  let usualThirdAt: Millis | undefined;
  // In one turn, a process that is late reads some answers and then places requests.
  const isRead = ({ metrics }: Endpoint): boolean => {
    usualThirdAt ??= usualOf(scraped, ({ health }) => health.thirdSampledAt);
    return usualThirdAt > metrics.sampledAt;
  };
  const suspects: Endpoint[] = [];
  const silent: EndpointHealth[] = [];
  let progressAt = Number.NEGATIVE_INFINITY;
  for (const { health, endpoint } of scraped) {
    const lateMs = usualAt - endpoint.metrics.sampledAt;
    const paceMs = Math.max(health.scrapeGapMs, at - usualAt);
    const isLate = lateMs >= Math.max(LATE_MS, SCRAPES_LATE * paceMs);
    if (isLate && mayBeSilent(health, endpoint, at - oldAgeMs(paceMs))) suspects.push(endpoint);
    const isMissing = lateMs >= Math.max(silenceMs, SCRAPES_MISSING * paceMs);
    const isSilent = isMissing && owesSomething(health, at, silenceMs) && isRead(endpoint);
    if (isSilent) silent.push(health);
    else progressAt = Math.max(progressAt, health.progressAt);
  }
  return { suspects, silent: silent.filter(({ owingSince }) => progressAt > owingSince) };
}

/** Whether it has answered a scrape since it was found silent. */
export function answersScrapesAgain({ ejected }: EndpointHealth, { metrics }: Endpoint): boolean {
  return ejected?.reason === 'silent' && metrics.sampledAt > ejected.since;
}

/** At least half of the endpoints have this time or a later one. */
function usualOf(scraped: readonly Watched[], timeOf: (each: Watched) => Millis): Millis {
  const times = Float64Array.from(scraped, timeOf).sort();
  return times[Math.floor(times.length / 2)] ?? Number.NEGATIVE_INFINITY;
}

/**
 * A request that was sent after the last sample and is answered shows that only scrapes fail. A
 * sample from before `oldBefore` is old: from then on policies know nothing of the endpoint's load.
 */
function mayBeSilent(
  { answeredSentAt }: EndpointHealth,
  { metrics: { sampledAt } }: Endpoint,
  oldBefore: Millis,
): boolean {
  return answeredSentAt < sampledAt && sampledAt >= oldBefore;
}

function owesSomething(health: EndpointHealth, at: Millis, silenceMs: Millis): boolean {
  return owesFirstToken(health, at, silenceMs) || owesAnswers(health, at, silenceMs);
}

function owesFirstToken(
  { awaiting, progressAt }: EndpointHealth,
  at: Millis,
  silenceMs: Millis,
): boolean {
  const [oldest] = awaiting;
  if (oldest === undefined) return false;
  const [routed, expectedMs] = oldest;
  const waitedMs = at - Math.max(routed.at, progressAt);
  return waitedMs >= Math.max(silenceMs, TIMES_EXPECTED * expectedMs);
}

/** An answer in one piece may take long, but there is usually one after another. */
function owesAnswers(health: EndpointHealth, at: Millis, silenceMs: Millis): boolean {
  const [oldest] = health.whole;
  if (oldest === undefined) return false;
  const waitedMs = at - Math.max(oldest.at, health.progressAt);
  return waitedMs >= Math.max(silenceMs, GAPS_MISSING * health.progressGapMs);
}
