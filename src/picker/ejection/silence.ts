import type { Endpoint } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { EndpointHealth } from './endpoint-health.ts';

/** How often endpoints are looked at: each time costs an endpoint's share of the requests. */
export const SILENCE_CHECK_MS: Millis = 25;
/** Scrapes that must be missing: one may be late. */
const SCRAPES_MISSING = 3;
/** The first token may be so many times later than expected. */
const TIMES_EXPECTED = 2;
/** Where answers come in one piece, nothing may come for so many times as long as usual. */
const GAPS_MISSING = 3;

/** An endpoint with its present sample. */
export interface Watched {
  readonly health: EndpointHealth;
  readonly endpoint: Endpoint;
}

/**
 * The endpoints that answer neither requests nor scrapes, while most of the others answer scrapes and
 * some give first tokens. An engine with too much to do is late with one of the two, or not alone.
 */
export function silentAmong(
  watched: readonly Watched[],
  at: Millis,
  silenceMs: Millis,
): readonly EndpointHealth[] {
  const scraped = watched.filter(({ endpoint }) => Number.isFinite(endpoint.metrics.sampledAt));
  const silent = scraped.filter((each) => isSilent(each, at, silenceMs));
  if (silent.length === 0 || 2 * silent.length >= scraped.length) return [];
  let progressAt = Number.NEGATIVE_INFINITY;
  let heard = 0;
  for (const each of scraped) {
    if (silent.includes(each)) continue;
    progressAt = Math.max(progressAt, each.health.progressAt);
    if (!isUnheard(each, at, silenceMs)) heard += 1;
  }
  if (2 * heard < scraped.length) return [];
  return silent.flatMap(({ health }) => (progressAt > health.owingSince ? [health] : []));
}

/** Whether it has answered a scrape since it was found silent. */
export function isHeardAgain({ ejected }: EndpointHealth, { metrics }: Endpoint): boolean {
  return ejected?.reason === 'silent' && metrics.sampledAt > ejected.since;
}

/** Whether its scrapes are missing. */
function isUnheard({ health, endpoint }: Watched, at: Millis, silenceMs: Millis): boolean {
  const boundMs = Math.max(silenceMs, SCRAPES_MISSING * health.scrapeGapMs);
  return at - endpoint.metrics.sampledAt >= boundMs;
}

function isSilent(each: Watched, at: Millis, silenceMs: Millis): boolean {
  const { health } = each;
  if (!isUnheard(each, at, silenceMs)) return false;
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
