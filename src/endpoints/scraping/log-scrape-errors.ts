import type { EndpointId } from '../../framework/endpoint.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import type { Log } from '../../runtime/log/log.ts';
import { PacedLines } from '../../runtime/log/paced-lines.ts';
import {
  type ScrapeError,
  type ScrapeFailure,
  type ScrapeObserver,
  scrapeErrorsOf,
} from './scrape-errors.ts';

const LOAD_UNKNOWN = 'the metrics of an endpoint cannot be scraped; its load is unknown';
const PAGE_MISSING = 'a page that a data source reads of an endpoint cannot be read';

interface ScrapeLogOptions {
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly clock: Clock;
  readonly onFailure: (failure: ScrapeFailure) => void;
}

/** Logs when scrapes of an endpoint begin to fail, fail for another reason, or succeed again. */
export function logScrapeErrors(pool: EndpointPool, options: ScrapeLogOptions): void {
  scrapeErrorsOf(pool).observe(new ScrapeLog(pool, options));
}

class ScrapeLog implements ScrapeObserver {
  readonly #pool: EndpointPool;
  readonly #options: ScrapeLogOptions;
  /** What the log has last, by endpoint. */
  readonly #logged = new Map<EndpointId, ScrapeFailure>();
  readonly #lines: PacedLines<EndpointId>;

  constructor(pool: EndpointPool, options: ScrapeLogOptions) {
    this.#pool = pool;
    this.#options = options;
    this.#lines = new PacedLines({
      clock: options.clock,
      write: (id) => this.#logChange(id),
      onMore: (endpoints) => this.#logMore(endpoints),
    });
  }

  onScrapeError({ endpoint: { id }, failure }: ScrapeError): void {
    this.#options.onFailure(failure);
    if (failure !== this.#logged.get(id)) this.onScrapeErrorOver(id);
  }

  onScrapeErrorOver(id: EndpointId): void {
    this.#lines.changed(id);
  }

  #logMore(endpoints: number): void {
    const failing = Object.fromEntries(scrapeErrorsOf(this.#pool).failing());
    const fields = { endpoints, failing, page: '/debug/endpoints' };
    this.#options.log.warn(fields, 'scrapes of more endpoints fail, or work again');
  }

  /** Returns whether it has written a line. */
  #logChange(id: EndpointId): boolean {
    const { log } = this.#options;
    const error = scrapeErrorsOf(this.#pool).of(id);
    if (error?.failure === this.#logged.get(id)) return false;
    if (error !== undefined) {
      this.#logged.set(id, error.failure);
      const { endpoint, failure, reason, source } = error;
      const fields = { endpoint: id, address: endpoint.address, failure, reason };
      if (source === undefined) log.warn(fields, LOAD_UNKNOWN);
      else log.warn({ ...fields, source }, PAGE_MISSING);
      return true;
    }
    this.#logged.delete(id);
    const endpoint = this.#pool.get(id);
    if (endpoint === undefined) return false;
    log.info({ endpoint: id, address: endpoint.address }, 'an endpoint is scraped again');
    return true;
  }
}
