import { z } from 'zod';
import { dataParallelRank } from '../../framework/data-parallel-rank.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import {
  type DataSource,
  type DataSourceDefinition,
  type DataSourceHost,
  defineDataSource,
} from '../../framework/plugin.ts';
import type { Millis, Random } from '../../framework/runtime.ts';
import { duration } from '../../plugins/parameters/duration.ts';
import { CLIENT_PAIR, hasClientPair, httpTlsFields } from '../../plugins/parameters/http-tls.ts';
import { optionalPort } from '../../plugins/parameters/optional-port.ts';
import { extractorSchema } from './core-metrics-extractor.ts';
import { pageFields, sourceOrder } from './page-fields.ts';
import { NewScrapes } from './rhythm/new-scrapes.ts';
import { INTERVAL_MS, Rhythm } from './rhythm/rhythm.ts';
import { SlotTimers } from './rhythm/slot-timers.ts';
import { type MetricsConfig, Scraper } from './scraper.ts';

const TIMEOUT_MS = 1000;
/** 60 times a usual page; vLLM's page with every histogram of many models is under 1 MiB. */
const PAGE_BYTES = 2 * 1024 * 1024;
const PAGE_BYTES_MAX = 64 * 1024 * 1024;
/** Scraping more often brings nothing new: engines update their gauges once in a step. */
const INTERVAL_MS_MIN = 10;

const millis = z.union(
  [z.number(), duration],
  'must be a duration such as 50ms or 1s, a number of milliseconds, or for the interval adaptive',
);

const config = z.lazy(() =>
  z
    .strictObject({
      ...pageFields('http', '/metrics'),
      port: optionalPort,
      /** An empty text is Go's value for a missing interval. */
      interval: z
        .literal('')
        .transform(() => INTERVAL_MS)
        .or(z.literal('adaptive'))
        .or(millis.pipe(z.number().min(INTERVAL_MS_MIN)))
        .default(INTERVAL_MS),
      timeout: millis.pipe(z.number().positive()).default(TIMEOUT_MS),
      /**
       * Read for compatibility, without effect: only the lines that a plugin needs are read anyway.
       */
      families: z.array(z.string()).optional(),
      /**
       * The extractors of this source's own pages, where a configuration has several sources; else
       * the pool's extractor reads them.
       */
      extractors: z.array(extractorSchema).min(1).optional(),
      order: sourceOrder,
      maxPageBytes: z.int().min(1024).max(PAGE_BYTES_MAX).default(PAGE_BYTES),
      ...httpTlsFields,
    })
    .refine(hasClientPair, CLIENT_PAIR),
);

/**
 * Scrapes each server's metrics page at an interval, one scrape at a time, so that a slow one
 * delays no others. A sample is dated by when its scrape was sent.
 */
export const metricsSource: DataSourceDefinition = defineDataSource<MetricsConfig>({
  type: 'metrics-data-source',
  config,
  start: (parsed, host) => new MetricsSource(parsed, host),
});

class MetricsSource implements DataSource {
  readonly #config: MetricsConfig;
  readonly #host: DataSourceHost;
  readonly #random: Random;
  readonly #rhythm: Rhythm;
  readonly #slots: SlotTimers;
  readonly #newScrapes: NewScrapes;
  readonly #scrapers = new Map<Endpoint['id'], Scraper>();
  /** By address: the one that reads all ranks of a server. */
  readonly #ofRanks = new Map<string, Scraper>();

  constructor(parsed: MetricsConfig, host: DataSourceHost) {
    this.#config = parsed;
    this.#host = host;
    this.#random = host.runtime.random.fork(host.name);
    const { busyShare } = host.runtime;
    this.#rhythm = new Rhythm({ interval: parsed.interval, busyShare });
    const timers = host.timers ?? host.runtime.clock;
    this.#slots = new SlotTimers(timers);
    this.#newScrapes = new NewScrapes(timers);
  }

  onEndpointAdded(endpoint: Endpoint): void {
    const isRank = dataParallelRank(endpoint) !== undefined;
    const known = isRank ? this.#ofRanks.get(endpoint.address) : undefined;
    known?.add(endpoint);
    const scraper = known ?? this.#newScraper(endpoint);
    this.#scrapers.set(endpoint.id, scraper);
    if (isRank) this.#ofRanks.set(endpoint.address, scraper);
  }

  #newScraper(endpoint: Endpoint): Scraper {
    return new Scraper({
      config: this.#config,
      host: this.#host,
      random: this.#random.fork(endpoint.id),
      rhythm: this.#rhythm,
      slots: this.#slots,
      newScrapes: this.#newScrapes,
      endpoint,
    });
  }

  onRouted({ endpoint, prefill, at }: Routed): void {
    this.#scrapers.get(endpoint.id)?.timer.requestBegan(at);
    if (prefill !== undefined) this.#scrapers.get(prefill.id)?.timer.requestBegan(at);
  }

  onDone({ endpoint, prefill }: Routed, at: Millis): void {
    this.#scrapers.get(endpoint.id)?.timer.requestEnded(at);
    if (prefill !== undefined) this.#scrapers.get(prefill.id)?.timer.requestEnded(at);
  }

  onEndpointChanged(endpoint: Endpoint, previous: Endpoint): void {
    // Nearly every change is a new sample from this source.
    if (endpoint.labels !== previous.labels) this.#scrapers.get(endpoint.id)?.relabel(endpoint);
  }

  onEndpointRemoved({ id, address }: Endpoint): void {
    const scraper = this.#scrapers.get(id);
    this.#scrapers.delete(id);
    if (scraper === undefined || scraper.remove(id)) return;
    if (this.#ofRanks.get(address) === scraper) this.#ofRanks.delete(address);
  }

  stop(): void {
    for (const scraper of this.#scrapers.values()) scraper.stop();
    this.#scrapers.clear();
    this.#ofRanks.clear();
    this.#newScrapes.stop();
  }
}
