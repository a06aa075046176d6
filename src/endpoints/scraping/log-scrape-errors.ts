import type { EndpointId } from '../../framework/endpoint.ts';
import type { Clock, Timer } from '../../framework/runtime.ts';
import type { EndpointPool } from '../../picker/endpoint-pool.ts';
import type { Log } from '../../runtime/log.ts';
import {
  type ScrapeError,
  type ScrapeFailure,
  type ScrapeObserver,
  scrapeErrorsOf,
} from './scrape-errors.ts';

/** The log gets lines once in this interval. */
const INTERVAL_MS = 1000;
/** The most lines at once; further ones follow an interval later. */
const LINES_MAX = 10;

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
  readonly #changed = new Set<EndpointId>();
  #timer: Timer | undefined;

  constructor(pool: EndpointPool, options: ScrapeLogOptions) {
    this.#pool = pool;
    this.#options = options;
  }

  onScrapeError({ endpoint: { id }, failure }: ScrapeError): void {
    this.#options.onFailure(failure);
    if (failure !== this.#logged.get(id)) this.onScrapeErrorOver(id);
  }

  onScrapeErrorOver(id: EndpointId): void {
    this.#changed.add(id);
    if (this.#timer === undefined) this.#startTimer();
  }

  readonly #logChanges = (): void => {
    this.#timer = undefined;
    let lines = 0;
    for (const id of this.#changed) {
      if (lines === LINES_MAX) break;
      this.#changed.delete(id);
      if (this.#logChange(id)) lines += 1;
    }
    if (this.#changed.size > 0) this.#startTimer();
  };

  #startTimer(): void {
    this.#timer = this.#options.clock.setTimer(INTERVAL_MS, this.#logChanges);
  }

  /** Returns whether it has written a line. */
  #logChange(id: EndpointId): boolean {
    const { log } = this.#options;
    const error = scrapeErrorsOf(this.#pool).of(id);
    if (error?.failure === this.#logged.get(id)) return false;
    if (error !== undefined) {
      this.#logged.set(id, error.failure);
      const { endpoint, failure, reason } = error;
      const fields = { endpoint: id, address: endpoint.address, failure, reason };
      log.warn(fields, 'the metrics of an endpoint cannot be scraped; its load is unknown');
      return true;
    }
    this.#logged.delete(id);
    const endpoint = this.#pool.get(id);
    if (endpoint === undefined) return false;
    log.info({ endpoint: id, address: endpoint.address }, 'an endpoint is scraped again');
    return true;
  }
}
