import type { Endpoint } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, CUSTOM_METRICS, LORA, STARTED_AT } from '../../framework/keys.ts';
import type { DataSourceHost } from '../../framework/plugin.ts';
import type { HttpResponse, Millis, Random, Timer } from '../../framework/runtime.ts';
import { mappingsFor } from './core-metrics-extractor.ts';
import { PageReader, type PageReading } from './page-reader.ts';
import { reportScrapeError, type ScrapeFailure } from './scrape-errors.ts';

/** Some hundred times a usual page; vLLM with every histogram of many models stays under 1 MiB. */
const PAGE_BYTES_MAX = 8 * 1024 * 1024;
/** Each scrape comes up to this share of the interval early or late, so that endpoints never fall into step. */
const JITTER = 0.1;
/** An endpoint that fails is asked half as often each time, but often enough to be back within a second. */
const BACKOFF_MAX_MS = 1000;

export interface MetricsConfig {
  readonly scheme: 'http' | 'https';
  readonly path: string;
  /** The endpoint's own where undefined. */
  readonly port?: number | undefined;
  readonly interval: Millis;
  readonly timeout: Millis;
}

export interface ScraperOptions {
  readonly config: MetricsConfig;
  readonly host: DataSourceHost;
  readonly random: Random;
  readonly endpoint: Endpoint;
}

/** Scrapes one endpoint from its making, at once and then at the interval, until stopped. */
export class Scraper {
  readonly #config: MetricsConfig;
  readonly #host: DataSourceHost;
  readonly #random: Random;
  readonly #url: URL;
  readonly #getOptions: { readonly timeoutMs: Millis; readonly bodyBytesMax: number };
  #endpoint: Endpoint;
  /** Those that may fit; once one does, that alone. */
  #readers: readonly PageReader[] = [];
  #last: PageReading | undefined;
  #failures = 0;
  #scrapes = 0;
  #timer: Timer;
  #stopped = false;

  constructor({ config, host, random, endpoint }: ScraperOptions) {
    this.#config = config;
    this.#host = host;
    this.#random = random;
    this.#endpoint = endpoint;
    this.#url = scrapeUrl(config, endpoint.address);
    this.#getOptions = { timeoutMs: config.timeout, bodyBytesMax: PAGE_BYTES_MAX };
    // By a timer, so that all sources of the pool have started before the first page is read.
    this.#timer = host.runtime.clock.setTimer(0, this.#onTimer);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer.cancel();
  }

  /** The labels may name another engine now. */
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
    this.#judge(response, sampledAt);
    // Whoever heard of it may have removed the endpoint.
    if (!this.#stopped) this.#schedule(sampledAt);
  }

  #judge(response: HttpResponse | Error, sampledAt: Millis): void {
    if (response instanceof Error) this.#failed('unreachable', response.message);
    else if (response.status !== 200) {
      this.#failed('status', `${this.#url.href} answered ${response.status}`);
    } else if (!this.#take(asBuffer(response.body), sampledAt)) {
      this.#failed('no-series', `${this.#url.href} has no series of an engine we know`);
    } else this.#failures = 0;
  }

  /** The sample's age tells scorers all there is to know of a missed scrape; this is for people. */
  #failed(failure: ScrapeFailure, reason: string): void {
    this.#failures += 1;
    reportScrapeError(this.#host.pool, {
      endpoint: this.#endpoint,
      failure,
      reason,
      inSuccession: this.#failures,
    });
  }

  /** Counted from when the last one was sent: a slow answer does not stretch the interval. */
  #schedule(sentAt: Millis): void {
    const { clock } = this.#host.runtime;
    const { interval } = this.#config;
    const backoff = interval * 2 ** Math.min(this.#failures, 10);
    const wanted = Math.min(backoff, Math.max(BACKOFF_MAX_MS, interval));
    this.#scrapes += 1;
    // Endpoints are often added all at once; their second scrapes are spread over a whole interval.
    const share =
      this.#scrapes === 1 ? this.#random.next() : 1 + JITTER * (2 * this.#random.next() - 1);
    const delay = sentAt + wanted * share - clock.now();
    this.#timer = clock.setTimer(Math.max(0, delay), this.#onTimer);
  }

  /** False for a page that says nothing of load. */
  #take(page: Buffer, sampledAt: Millis): boolean {
    const reading = this.#read(page);
    if (reading === undefined) return false;
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
    return true;
  }

  /** The first mapping that finds anything on the page is this endpoint's engine, until it finds nothing. */
  #read(page: Buffer): PageReading | undefined {
    if (this.#readers.length === 0) {
      const mappings = mappingsFor(this.#host.pool, this.#endpoint);
      this.#readers = mappings.map((mapping) => new PageReader(mapping));
    }
    for (const reader of this.#readers) {
      const reading = reader.read(page);
      if (reading === undefined) continue;
      if (this.#readers.length > 1) this.#readers = [reader];
      return reading;
    }
    // Another server may have taken the address.
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
