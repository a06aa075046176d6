import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { EndpointWriter } from '../../framework/plugin.ts';

/** `unreachable`: no complete answer in time; `no-series`: none of a known engine. */
export type ScrapeFailure = (typeof SCRAPE_FAILURES)[number];

export const SCRAPE_FAILURES = ['unreachable', 'status', 'no-series'] as const;

export interface ScrapeError {
  readonly endpoint: Endpoint;
  readonly failure: ScrapeFailure;
  /** A sentence for a person that names the URL. */
  readonly reason: string;
  /** The number of failures since the last success, including this one. */
  readonly inSuccession: number;
}

export interface ScrapeObserver {
  onScrapeError(error: ScrapeError): void;
  /** Called when a scrape succeeds after failures, or a failing scrape is stopped for good. */
  onScrapeErrorOver?(id: EndpointId): void;
}

/** The failing scrapes of one pool, whichever data source makes them. */
export class ScrapeErrors {
  /** By the scraper that reported them. */
  readonly #failing = new Map<object, ScrapeError>();
  readonly #observers: ScrapeObserver[] = [];

  /** May be called before or after the pool's data sources start. */
  observe(observer: ScrapeObserver): void {
    this.#observers.push(observer);
  }

  /** The last error of a scrape of this endpoint that is failing now; undefined where none is. */
  of(id: EndpointId): ScrapeError | undefined {
    for (const error of this.#failing.values()) if (error.endpoint.id === id) return error;
    return undefined;
  }

  /** Called by a scraper after each failure. */
  failed(scraper: object, error: ScrapeError): void {
    this.#failing.set(scraper, error);
    for (const observer of this.#observers) observer.onScrapeError(error);
  }

  /** Called by a scraper when it succeeds after a failure, and when it stops. */
  over(scraper: object): void {
    const error = this.#failing.get(scraper);
    if (error === undefined) return;
    this.#failing.delete(scraper);
    for (const observer of this.#observers) observer.onScrapeErrorOver?.(error.endpoint.id);
  }
}

// By pool: a data source is started with only its pool and the runtime.
const byPool = new WeakMap<EndpointWriter, ScrapeErrors>();

export function scrapeErrorsOf(pool: EndpointWriter): ScrapeErrors {
  let errors = byPool.get(pool);
  if (errors === undefined) {
    errors = new ScrapeErrors();
    byPool.set(pool, errors);
  }
  return errors;
}
