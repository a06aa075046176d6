import { CACHE_CONFIG, CUSTOM_METRICS, LORA, STARTED_AT } from '../../framework/attributes.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { DataSourceHost } from '../../framework/plugin.ts';
import {
  BodyTooLargeError,
  type HttpGetOptions,
  type HttpResponse,
  type Millis,
  type Random,
} from '../../framework/runtime.ts';
import { type HttpTlsParameters, httpTlsOf } from '../../plugins/parameters/http-tls.ts';
import { mappingsFor } from './core-metrics-extractor.ts';
import { PageReader, type PageReading, type PageRefusal } from './page/page-reader.ts';
import type { NewScrapes } from './rhythm/new-scrapes.ts';
import type { Interval, Rhythm } from './rhythm/rhythm.ts';
import { ScrapeTimer } from './rhythm/scrape-timer.ts';
import type { SlotTimers } from './rhythm/slot-timers.ts';
import { type ScrapeErrors, type ScrapeFailure, scrapeErrorsOf } from './scrape-errors.ts';

/** The beginning of a page that a log line shows. */
const BEGINNING_BYTES = 40;

export interface MetricsConfig extends HttpTlsParameters {
  readonly scheme: 'http' | 'https';
  readonly path: string;
  /** Undefined: the port of the endpoint. */
  readonly port?: number | undefined;
  readonly interval: Interval;
  readonly timeout: Millis;
  /** A larger page is not read. */
  readonly maxPageBytes: number;
}

interface ScraperOptions {
  readonly config: MetricsConfig;
  readonly host: DataSourceHost;
  readonly random: Random;
  readonly rhythm: Rhythm;
  readonly slots: SlotTimers;
  readonly newScrapes: NewScrapes;
  readonly endpoint: Endpoint;
}

/** Scrapes one endpoint at once and then in the rhythm of its pool, until stopped. */
export class Scraper {
  readonly #config: MetricsConfig;
  readonly #host: DataSourceHost;
  readonly #errors: ScrapeErrors;
  readonly #url: URL;
  readonly #getOptions: HttpGetOptions;
  /** When to scrape. */
  readonly timer: ScrapeTimer;
  #endpoint: Endpoint;
  /**
   * The readers of all engines that are possible. Once a reader finds its series, only it is left.
   */
  #readers: readonly PageReader[] = [];
  #last: PageReading | undefined;
  #failures = 0;
  #hasSucceeded = false;
  /** What the last page took, in bytes searched. */
  #workBytes = 0;
  #stopped = false;

  constructor({ config, host, random, rhythm, slots, newScrapes, endpoint }: ScraperOptions) {
    this.#config = config;
    this.#host = host;
    this.#errors = scrapeErrorsOf(host.pool);
    this.#endpoint = endpoint;
    this.#url = scrapeUrl(config, endpoint.address);
    const limits = { timeoutMs: config.timeout, bodyBytesMax: config.maxPageBytes };
    const tls = httpTlsOf({ ...config, serverName: config.serverName ?? endpoint.hostName });
    this.#getOptions = config.scheme === 'https' ? { ...limits, tls } : limits;
    const { timers: clock = host.runtime.clock } = host;
    this.timer = new ScrapeTimer({
      clock,
      random,
      rhythm,
      slots,
      newScrapes,
      onDue: () => void this.#scrape(),
    });
  }

  stop(): void {
    this.#stopped = true;
    this.timer.stop();
    this.#errors.stopped(this, this.#endpoint.id);
  }

  /** Takes the endpoint's new labels, which may name another engine. */
  relabel(endpoint: Endpoint): void {
    this.#endpoint = endpoint;
    this.#readers = [];
  }

  async #scrape(): Promise<void> {
    const { clock, network } = this.#host.runtime;
    const sampledAt = clock.now();
    let response: HttpResponse | Error;
    try {
      response = await network.get(this.#url, this.#getOptions);
    } catch (error) {
      response = error instanceof Error ? error : new Error(String(error));
    }
    if (this.#stopped) return;
    this.#handle(response, sampledAt);
    // An observer may have removed the endpoint.
    if (this.#stopped) return;
    this.timer.next(sampledAt, { failures: this.#failures, workBytes: this.#workBytes });
  }

  #handle(response: HttpResponse | Error, sampledAt: Millis): void {
    this.#workBytes = 0;
    const failed = this.#take(response, sampledAt);
    if (failed !== undefined) {
      this.#failed(...failed);
      return;
    }
    const isNews = this.#failures > 0 || !this.#hasSucceeded;
    this.#failures = 0;
    this.#hasSucceeded = true;
    if (isNews) {
      const { clock } = this.#host.runtime;
      this.#errors.succeeded(this, this.#endpoint.id, clock.wallTime());
    }
  }

  /** Returns why the answer is of no use. */
  #take(
    response: HttpResponse | Error,
    sampledAt: Millis,
  ): readonly [ScrapeFailure, string] | undefined {
    if (response instanceof BodyTooLargeError) {
      this.#workBytes = this.#config.maxPageBytes;
      return [
        'too-large',
        `${response.message}; maxPageBytes of the metrics-data-source is the bound`,
      ];
    }
    if (response instanceof Error) return ['unreachable', response.message];
    const url = this.#url;
    if (response.status !== 200) return ['status', `${url.href} answered ${response.status}`];
    const page = asBuffer(response.body);
    const reading = this.#read(page);
    if (reading === undefined) {
      return ['no-series', `${url.href} has no series of a known engine; it ${beginningOf(page)}`];
    }
    if ('refused' in reading) return ['bad-value', `${url.href} ${reading.refused}`];
    this.#store(reading, sampledAt);
    return undefined;
  }

  /** For people. Scorers see a missed scrape by the age of the last sample. */
  #failed(failure: ScrapeFailure, reason: string): void {
    this.#failures += 1;
    this.#errors.failed(this, {
      endpoint: this.#endpoint,
      failure,
      reason,
      inSuccession: this.#failures,
      at: this.#host.runtime.clock.wallTime(),
    });
  }

  #store(reading: PageReading, sampledAt: Millis): void {
    const { pool } = this.#host;
    const { id } = this.#endpoint;
    const metrics = {
      waitingQueueSize: reading.waiting ?? 0,
      runningRequests: reading.running ?? 0,
      kvCacheUsage: reading.kvUsage ?? 0,
      sampledAt,
    };
    this.timer.sampled(metrics);
    pool.observe(id, metrics);
    if (reading.cache !== this.#last?.cache) pool.set(id, CACHE_CONFIG, reading.cache);
    if (reading.lora !== this.#last?.lora) pool.set(id, LORA, reading.lora);
    if (reading.startedAtS !== this.#last?.startedAtS) {
      pool.set(id, STARTED_AT, reading.startedAtS);
    }
    if (reading.custom !== (this.#last?.custom ?? CUSTOM_METRICS.initial)) {
      pool.set(id, CUSTOM_METRICS, reading.custom);
    }
    this.#last = reading;
  }

  /** The first mapping that finds series is the endpoint's engine, until it finds none. */
  #read(page: Buffer): PageReading | PageRefusal | undefined {
    this.#workBytes = page.length;
    if (this.#readers.length === 0) {
      const mappings = mappingsFor(this.#host.pool, this.#endpoint);
      this.#readers = mappings.map((mapping) => new PageReader(mapping));
    }
    for (const reader of this.#readers) {
      const before = reader.workBytes;
      const reading = reader.read(page);
      this.#workBytes += reader.workBytes - before;
      if (reading === undefined) continue;
      if (this.#readers.length > 1) this.#readers = [reader];
      return reading;
    }
    // Another engine may run at this address now.
    this.#readers = [];
    return undefined;
  }
}

function scrapeUrl({ scheme, path, port }: MetricsConfig, address: string): URL {
  const url = new URL(`${scheme}://${address}${path}`);
  if (port !== undefined) url.port = String(port);
  return url;
}

function asBuffer(body: Uint8Array): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

/** What a person needs to see that a page is no metrics page. */
function beginningOf(page: Buffer): string {
  if (page.length === 0) return 'is empty';
  if (page[0] === 0x1f && page[1] === 0x8b) return 'is compressed, which was not asked for';
  return `begins with ${JSON.stringify(page.toString('latin1', 0, BEGINNING_BYTES))}`;
}
