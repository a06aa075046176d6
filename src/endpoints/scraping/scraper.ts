import type { Endpoint } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, CUSTOM_METRICS, LORA, STARTED_AT } from '../../framework/keys.ts';
import type { DataSourceHost } from '../../framework/plugin.ts';
import {
  BodyTooLargeError,
  type HttpGetOptions,
  type HttpResponse,
  type Millis,
  type Random,
  type Timer,
} from '../../framework/runtime.ts';
import { type HttpTlsParameters, httpTlsOf } from '../../plugins/parameters/http-tls.ts';
import { mappingsFor } from './core-metrics-extractor.ts';
import { PageReader, type PageReading, type PageRefusal } from './page-reader.ts';
import { type ScrapeErrors, type ScrapeFailure, scrapeErrorsOf } from './scrape-errors.ts';

/** Each scrape is early or late by up to this share of the interval: so scrapes stay spread. */
const JITTER = 0.1;
/** The interval doubles after each failure, up to this: a restarted server is found within 1 s. */
const BACKOFF_MAX_MS = 1000;
/**
 * The next scrape waits 1 ms for so many bytes searched in this page: about 2 % of a core. A usual
 * page takes a twentieth of that at the default interval.
 */
const WORK_BYTES_PER_MS = 80 * 1024;
/** The beginning of a page that a log line shows. */
const BEGINNING_BYTES = 40;

export interface MetricsConfig extends HttpTlsParameters {
  readonly scheme: 'http' | 'https';
  readonly path: string;
  /** Undefined: the port of the endpoint. */
  readonly port?: number | undefined;
  readonly interval: Millis;
  readonly timeout: Millis;
  /** A larger page is not read. */
  readonly maxPageBytes: number;
}

interface ScraperOptions {
  readonly config: MetricsConfig;
  readonly host: DataSourceHost;
  readonly random: Random;
  readonly endpoint: Endpoint;
}

/** Scrapes one endpoint at once and then at the interval, until stopped. */
export class Scraper {
  readonly #config: MetricsConfig;
  readonly #host: DataSourceHost;
  readonly #random: Random;
  readonly #errors: ScrapeErrors;
  readonly #url: URL;
  readonly #getOptions: HttpGetOptions;
  #endpoint: Endpoint;
  /** The readers of all engines that are possible; once one finds its series, only that one. */
  #readers: readonly PageReader[] = [];
  #last: PageReading | undefined;
  #failures = 0;
  #scrapes = 0;
  /** What the last page took, in bytes searched. */
  #workBytes = 0;
  #timer: Timer;
  #stopped = false;

  constructor({ config, host, random, endpoint }: ScraperOptions) {
    this.#config = config;
    this.#host = host;
    this.#random = random;
    this.#errors = scrapeErrorsOf(host.pool);
    this.#endpoint = endpoint;
    this.#url = scrapeUrl(config, endpoint.address);
    const limits = { timeoutMs: config.timeout, bodyBytesMax: config.maxPageBytes };
    const tls = httpTlsOf({ ...config, serverName: config.serverName ?? endpoint.hostName });
    this.#getOptions = config.scheme === 'https' ? { ...limits, tls } : limits;
    // A timer, so that all data sources of the pool have started before the first page is read.
    this.#timer = host.runtime.clock.setTimer(0, this.#onTimer);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer.cancel();
    this.#errors.stopped(this, this.#endpoint.id);
  }

  /** Takes the endpoint's new labels, which may name another engine. */
  relabel(endpoint: Endpoint): void {
    this.#endpoint = endpoint;
    this.#readers = [];
  }

  readonly #onTimer = (): void => void this.#scrape();

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
    if (!this.#stopped) this.#schedule(sampledAt);
  }

  #handle(response: HttpResponse | Error, sampledAt: Millis): void {
    this.#workBytes = 0;
    const failed = this.#take(response, sampledAt);
    if (failed !== undefined) {
      this.#failed(...failed);
      return;
    }
    const wasFailing = this.#failures > 0;
    this.#failures = 0;
    if (wasFailing || this.#scrapes === 0) {
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
    const { href } = this.#url;
    if (response.status !== 200) return ['status', `${href} answered ${response.status}`];
    const page = asBuffer(response.body);
    const reading = this.#read(page);
    if (reading === undefined) {
      return ['no-series', `${href} has no series of a known engine; it ${beginningOf(page)}`];
    }
    if ('refused' in reading) return ['bad-value', `${href} ${reading.refused}`];
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

  /** The interval counts from when the last scrape was sent: a slow answer does not stretch it. */
  #schedule(sentAt: Millis): void {
    const { clock } = this.#host.runtime;
    const { interval } = this.#config;
    const backoff = interval * 2 ** Math.min(this.#failures, 10);
    const rest = Math.max(backoff, this.#workBytes / WORK_BYTES_PER_MS);
    const wanted = Math.min(rest, Math.max(BACKOFF_MAX_MS, interval));
    this.#scrapes += 1;
    // Endpoints are often added together: their second scrapes are spread over a whole interval.
    const share =
      this.#scrapes === 1 ? this.#random.next() : 1 + JITTER * (2 * this.#random.next() - 1);
    const delay = sentAt + wanted * share - clock.now();
    this.#timer = clock.setTimer(Math.max(0, delay), this.#onTimer);
  }

  #store(reading: PageReading, sampledAt: Millis): void {
    const { pool } = this.#host;
    const { id } = this.#endpoint;
    pool.observe(id, {
      waitingQueueSize: reading.waiting ?? 0,
      runningRequests: reading.running ?? 0,
      kvCacheUsage: reading.kvUsage ?? 0,
      sampledAt,
    });
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
