import { scrapeErrorsOf } from '../../endpoints/scraping/scrape-errors.ts';
import { type Endpoint, isFresh } from '../../framework/endpoint.ts';
import { ROLE_LABEL } from '../../framework/roles.ts';
import { EJECTION_WORDS } from '../../picker/ejection/ejection-words.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { LiveEndpoint, LivePool } from './live-message.ts';
import type { RecentHits } from './recent-hits.ts';

/** More rows than a person reads; a message stays below half a megabyte. */
const ROWS_MAX = 1000;
const LABELS_MAX = 12;
const LABEL_CHARS_MAX = 100;
const WHY_CHARS_MAX = 240;

/** The pool as rows: those with trouble and the most loaded ones where there are too many. */
export function poolRows(
  picker: EndpointPicker,
  hits: RecentHits,
  { now, labels }: { readonly now: number; readonly labels: boolean },
): LivePool {
  const endpoints = picker.pool.snapshot();
  if (endpoints.length === 0) return noRows(picker);
  const rows = endpoints.map((endpoint) => rowOf(endpoint, picker, hits, now));
  const shown = rows.length <= ROWS_MAX ? rows : mostTelling(rows);
  if (!labels) return { rows: shown, notShown: rows.length - shown.length };
  const labelsById = new Map<string, Endpoint['labels']>(
    endpoints.map((endpoint) => [endpoint.id, endpoint.labels]),
  );
  return {
    rows: shown.map((row) => ({ ...row, labels: labelTexts(labelsById.get(row.id)) })),
    notShown: rows.length - shown.length,
  };
}

function noRows({ pool }: EndpointPicker): LivePool {
  const { whyEmpty } = pool;
  return { rows: [], notShown: 0, ...(whyEmpty !== undefined && { whyEmpty }) };
}

function mostTelling(rows: readonly LiveEndpoint[]): readonly LiveEndpoint[] {
  const isWell = ({ state }: LiveEndpoint): number => (state === 'ok' ? 1 : 0);
  return rows
    .toSorted((a, b) => isWell(a) - isWell(b) || b.inFlight - a.inFlight)
    .slice(0, ROWS_MAX);
}

function rowOf(
  endpoint: Endpoint,
  picker: EndpointPicker,
  hits: RecentHits,
  now: number,
): LiveEndpoint {
  const { id, address, metrics } = endpoint;
  const { requests, pendingPrefillTokens } = picker.ledger.load(endpoint);
  const lost = picker.ledger.lost(endpoint);
  const role = endpoint.labels.get(ROLE_LABEL);
  // Where no plugin counts cached tokens, nothing is known of hits: 0 % would be wrong.
  const hitRate = picker.prefixSource() === undefined ? undefined : hits.rate(endpoint, now);
  return {
    id,
    address,
    ...(role !== undefined && { role }),
    inFlight: requests + lost,
    ...(lost > 0 && { lost }),
    prefillTokens: pendingPrefillTokens,
    sample: Number.isFinite(metrics.sampledAt)
      ? {
          ageMs: Math.round(now - metrics.sampledAt),
          running: metrics.runningRequests,
          waiting: metrics.waitingQueueSize,
          kv: thousandths(metrics.kvCacheUsage),
        }
      : null,
    hitRate: hitRate === undefined ? null : thousandths(hitRate),
    ...stateOf(endpoint, picker, now),
  };
}

function stateOf(
  endpoint: Endpoint,
  picker: EndpointPicker,
  now: number,
): Pick<LiveEndpoint, 'state' | 'why'> {
  const ejected = picker.ejector.ejected(endpoint);
  if (ejected !== undefined) {
    const seconds = Math.round((ejected.until - picker.clock.now()) / 1000);
    const when = seconds > 0 ? `in ${seconds} s` : 'with the next request';
    return { state: 'ejected', why: `${EJECTION_WORDS[ejected.reason]}; tried again ${when}` };
  }
  const scrapes = scrapeErrorsOf(picker.pool).stateOf(endpoint.id);
  if (scrapes?.error !== undefined) {
    const { reason } = scrapes.error;
    return { state: 'not scraped', why: reason.slice(0, WHY_CHARS_MAX) };
  }
  if (isFresh(endpoint, now)) return { state: 'ok' };
  if (scrapes === undefined) return { state: 'new', why: 'no scrape has ended yet' };
  return { state: 'stale', why: 'the last sample is older than 2 s' };
}

function labelTexts(labels: Endpoint['labels'] | undefined): readonly string[] {
  return [...(labels ?? [])]
    .filter(([name]) => name !== ROLE_LABEL)
    .slice(0, LABELS_MAX)
    .map(([name, value]) => `${name}=${value}`.slice(0, LABEL_CHARS_MAX));
}

function thousandths(share: number): number {
  return Math.round(1000 * share) / 1000;
}
