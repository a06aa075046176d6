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
import { type ExtractorConfig, mappingsFor, mappingsOf } from './core-metrics-extractor.ts';
import { type ReadingSink, ReadingWriter, sharedSink } from './endpoint-readings.ts';
import { EngineReader } from './page/engine-reader.ts';
import { joinReadings, type PageReading, type PageRefusal } from './page/reading.ts';
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
  /** Undefined: the extractor of the pool. */
  readonly extractors?: readonly ExtractorConfig[] | undefined;
  /** Where several sources find the same value, that of the lowest order counts. */
  readonly order?: number | undefined;
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
  /** One for each extractor. */
  readonly #readers: readonly EngineReader[];
  readonly #sink: ReadingSink;
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
    const { extractors } = config;
    this.#readers = readersOf(extractors, host);
    this.#sink =
      extractors === undefined
        ? new ReadingWriter(host.pool, endpoint.id)
        : sharedSink(host.pool, endpoint.id, config.order);
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
    this.#sink.leave();
    this.#errors.stopped(this, this.#endpoint.id);
  }

  /** Takes the endpoint's new labels, which may name another engine. */
  relabel(endpoint: Endpoint): void {
    this.#endpoint = endpoint;
    for (const reader of this.#readers) reader.forget();
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

  #failed(failure: ScrapeFailure, reason: string): void {
    this.#failures += 1;
    this.#sink.failed();
    // Where there are several, another one may have the load.
    const isOneOfSeveral = this.#config.extractors !== undefined;
    this.#errors.failed(this, {
      endpoint: this.#endpoint,
      failure,
      reason,
      ...(isOneOfSeveral && { source: this.#host.name }),
      inSuccession: this.#failures,
      at: this.#host.runtime.clock.wallTime(),
    });
  }

  #store(reading: PageReading, sampledAt: Millis): void {
    const metrics = this.#sink.take({ reading, sampledAt });
    if (metrics !== undefined) this.timer.sampled(metrics);
  }

  #read(page: Buffer): PageReading | PageRefusal | undefined {
    this.#workBytes = page.length;
    const read: PageReading[] = [];
    for (const reader of this.#readers) {
      const reading = reader.read(page, this.#endpoint);
      this.#workBytes += reader.workBytes;
      if (reading === undefined) continue;
      if ('refused' in reading) return reading;
      read.push(reading);
    }
    if (read.length < 2) return read[0];
    // As in the reference, what a later extractor finds replaces what one before it found.
    const dated = read.toReversed().map((reading) => ({ reading, sampledAt: 0 }));
    return joinReadings(dated)?.reading;
  }
}

function readersOf(
  extractors: readonly ExtractorConfig[] | undefined,
  { pool }: DataSourceHost,
): readonly EngineReader[] {
  if (extractors === undefined)
    return [new EngineReader((endpoint) => mappingsFor(pool, endpoint))];
  // One source may have the load, and another one other values.
  const options = { loadOptional: true };
  return extractors.map(
    (each) => new EngineReader((endpoint) => mappingsOf(each, endpoint), options),
  );
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
