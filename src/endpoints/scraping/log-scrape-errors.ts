import type { EndpointId } from '../../framework/endpoint.ts';
import type { Clock, Timer } from '../../framework/runtime.ts';
import type { EndpointPool } from '../../picker/endpoint-pool.ts';
import type { Log } from '../../runtime/log.ts';
import { type ScrapeFailure, scrapeErrorsOf } from './scrape-errors.ts';

/** The log gets lines once in this interval. */
const INTERVAL_MS = 1000;
/** The most lines at once; further ones follow an interval later. */
const LINES_MAX = 10;

/**
 * Logs one line when scrapes of an endpoint begin to fail, one when they fail for another reason,
 * and one when they succeed again; of several changes within a second only the result. Calls
 * `onFailure` for each failed scrape.
 */
export function logScrapeErrors(
  pool: Pick<EndpointPool, 'get'> & Parameters<typeof scrapeErrorsOf>[0],
  {
    log,
    clock,
    onFailure,
  }: {
    readonly log: Pick<Log, 'info' | 'warn'>;
    readonly clock: Clock;
    readonly onFailure: (failure: ScrapeFailure) => void;
  },
): void {
  const errors = scrapeErrorsOf(pool);
  /** What the log has last, by endpoint. */
  const logged = new Map<EndpointId, ScrapeFailure>();
  const changed = new Set<EndpointId>();
  let timer: Timer | undefined;

  function logChange(id: EndpointId): boolean {
    const error = errors.of(id);
    if (error?.failure === logged.get(id)) return false;
    if (error !== undefined) {
      logged.set(id, error.failure);
      const { endpoint, failure, reason } = error;
      const fields = { endpoint: id, address: endpoint.address, failure, reason };
      log.warn(fields, 'the metrics of an endpoint cannot be scraped; its load is unknown');
      return true;
    }
    logged.delete(id);
    const endpoint = pool.get(id);
    if (endpoint === undefined) return false;
    log.info({ endpoint: id, address: endpoint.address }, 'an endpoint is scraped again');
    return true;
  }

  function logChanges(): void {
    timer = undefined;
    let lines = 0;
    for (const id of changed) {
      if (lines === LINES_MAX) break;
      changed.delete(id);
      if (logChange(id)) lines += 1;
    }
    if (changed.size > 0) timer = clock.setTimer(INTERVAL_MS, logChanges);
  }

  function noteChange(id: EndpointId): void {
    changed.add(id);
    timer ??= clock.setTimer(INTERVAL_MS, logChanges);
  }

  errors.observe({
    onScrapeError({ endpoint: { id }, failure }) {
      onFailure(failure);
      if (failure !== logged.get(id)) noteChange(id);
    },
    onScrapeErrorOver: noteChange,
  });
}
