import type { Endpoint } from '../../framework/endpoint.ts';
import type { EndpointWriter } from '../../framework/plugin.ts';

/**
 * `unreachable`: no whole answer came in time. `status`: an answer other than 200. `no-series`: a page without one
 * series of any engine we know.
 */
export type ScrapeFailure = 'unreachable' | 'status' | 'no-series';

export interface ScrapeError {
  readonly endpoint: Endpoint;
  readonly failure: ScrapeFailure;
  /** A sentence for a log, naming the URL. */
  readonly reason: string;
  /** Failures without a success between, this one included. Log at 1, count all. */
  readonly inSuccession: number;
}

export type ScrapeErrorListener = (error: ScrapeError) => void;

// By pool: a data source is started with nothing of its surroundings but its pool and the runtime.
const listeners = new WeakMap<EndpointWriter, ScrapeErrorListener[]>();

/** Hears of every failed scrape of the pool's endpoints, whichever source made it; may be called before or after sources start. */
export function onScrapeError(pool: EndpointWriter, listener: ScrapeErrorListener): void {
  const known = listeners.get(pool);
  if (known === undefined) listeners.set(pool, [listener]);
  else known.push(listener);
}

/** For sources: tells the pool's listeners. */
export function reportScrapeError(pool: EndpointWriter, error: ScrapeError): void {
  for (const listener of listeners.get(pool) ?? []) listener(error);
}
