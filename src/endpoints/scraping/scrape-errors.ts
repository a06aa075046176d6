import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { EndpointWriter } from '../../framework/plugin.ts';
import type { Millis } from '../../framework/runtime.ts';

/**
 * `unreachable`: no complete answer in time; `status`: another status than 200; `too-large`: more
 * bytes than are read; `no-series`: none of a known engine; `bad-value`: a load that cannot be.
 */
export type ScrapeFailure = (typeof SCRAPE_FAILURES)[number];

export const SCRAPE_FAILURES = [
  'unreachable',
  'status',
  'too-large',
  'no-series',
  'bad-value',
] as const;

export interface ScrapeError {
  readonly endpoint: Endpoint;
  readonly failure: ScrapeFailure;
  /** A sentence for a person that names the URL. */
  readonly reason: string;
  /**
   * The data source, where there is more than one page of metrics: its type where it reads another
   * page, and its name where several read such pages.
   */
  readonly source?: string;
  /** The number of failures since the last success, including this one. */
  readonly inSuccession: number;
  /** Wall-clock time since the Unix epoch. */
  readonly at: Millis;
}

/** How the scrapes of an endpoint go, for people. */
export interface ScrapeState {
  /** The error of the last scrape; undefined where it succeeded. */
  readonly error: ScrapeError | undefined;
  /** Wall-clock time since the Unix epoch when scrapes began to fail, or to succeed. */
  readonly since: Millis;
  /** The last error there was. */
  readonly lastError: ScrapeError | undefined;
}

export interface ScrapeObserver {
  onScrapeError(error: ScrapeError): void;
  /** Called when a scrape succeeds after failures, or a failing scrape is stopped for good. */
  onScrapeErrorOver?(id: EndpointId): void;
}

/** How the scrapes of one pool go, whichever data source makes them. */
export class ScrapeErrors {
  /** By the scraper that reports. */
  readonly #states = new Map<EndpointId, Map<object, ScrapeState>>();
  readonly #observers: ScrapeObserver[] = [];

  /** May be called before or after the pool's data sources start. */
  observe(observer: ScrapeObserver): void {
    this.#observers.push(observer);
  }

  /** The last error of a scrape of this endpoint that is failing now; undefined where none is. */
  of(id: EndpointId): ScrapeError | undefined {
    return this.stateOf(id)?.error;
  }

  /**
   * The state of a data source that fails, if one does; undefined until the first scrape has ended.
   */
  stateOf(id: EndpointId): ScrapeState | undefined {
    const states = [...(this.#states.get(id)?.values() ?? [])];
    return states.find(({ error }) => error !== undefined) ?? states[0];
  }

  /** The number of endpoints whose scrapes fail now, by reason. */
  failing(): ReadonlyMap<ScrapeFailure, number> {
    const counts = new Map<ScrapeFailure, number>(SCRAPE_FAILURES.map((each) => [each, 0]));
    for (const id of this.#states.keys()) {
      const failure = this.of(id)?.failure;
      if (failure !== undefined) counts.set(failure, (counts.get(failure) ?? 0) + 1);
    }
    return counts;
  }

  /** Called by a scraper after each failure. */
  failed(scraper: object, error: ScrapeError): void {
    const before = this.#stateOf(scraper, error.endpoint.id);
    const since = before?.error === undefined ? error.at : before.since;
    this.#set(scraper, error.endpoint.id, { error, since, lastError: error });
    for (const observer of this.#observers) observer.onScrapeError(error);
  }

  /** Called by a scraper for its first success, and for the first one after a failure. */
  succeeded(scraper: object, id: EndpointId, at: Millis): void {
    const before = this.#stateOf(scraper, id);
    this.#set(scraper, id, { error: undefined, since: at, lastError: before?.lastError });
    if (before?.error !== undefined) this.#over(id);
  }

  /** Called by a scraper when it stops. */
  stopped(scraper: object, id: EndpointId): void {
    const before = this.#stateOf(scraper, id);
    const states = this.#states.get(id);
    states?.delete(scraper);
    if (states?.size === 0) this.#states.delete(id);
    if (before?.error !== undefined) this.#over(id);
  }

  #over(id: EndpointId): void {
    for (const observer of this.#observers) observer.onScrapeErrorOver?.(id);
  }

  #stateOf(scraper: object, id: EndpointId): ScrapeState | undefined {
    return this.#states.get(id)?.get(scraper);
  }

  #set(scraper: object, id: EndpointId, state: ScrapeState): void {
    const states = this.#states.get(id) ?? new Map<object, ScrapeState>();
    this.#states.set(id, states.set(scraper, state));
  }
}

// By pool: a data source is started with only its pool and the runtime.
const byPool = new WeakMap<EndpointWriter, ScrapeErrors>();

/** The errors of all scrapes of this pool, whichever data source made them. */
export function scrapeErrorsOf(pool: EndpointWriter): ScrapeErrors {
  let errors = byPool.get(pool);
  if (errors === undefined) {
    errors = new ScrapeErrors();
    byPool.set(pool, errors);
  }
  return errors;
}
