import type { Endpoint, EndpointId, EndpointMetrics } from '../../framework/endpoint.ts';
import type { DataSourceHost } from '../../framework/plugin.ts';
import {
  BodyTooLargeError,
  type HttpGetOptions,
  type HttpResponse,
  type Millis,
  type Random,
} from '../../framework/runtime.ts';
import { type HttpTlsParameters, httpTlsOf } from '../../plugins/parameters/http-tls.ts';
import type { NewScrapes } from './rhythm/new-scrapes.ts';
import type { Interval, Rhythm } from './rhythm/rhythm.ts';
import { ScrapeTimer } from './rhythm/scrape-timer.ts';
import type { SlotTimers } from './rhythm/slot-timers.ts';
import { type ReadingConfig, ScrapedEndpoint, type UselessAnswer } from './scraped-endpoint.ts';

export interface MetricsConfig extends HttpTlsParameters, ReadingConfig {
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

/**
 * Scrapes one server at once and then in the rhythm of its pool, until stopped. Its endpoints are
 * one, or the ranks that its page has the series of.
 */
export class Scraper {
  readonly #config: MetricsConfig;
  readonly #host: DataSourceHost;
  readonly #url: URL;
  readonly #getOptions: HttpGetOptions;
  /** When to scrape. */
  readonly timer: ScrapeTimer;
  readonly #endpoints = new Map<EndpointId, ScrapedEndpoint>();
  #stopped = false;

  constructor({ config, host, random, rhythm, slots, newScrapes, endpoint }: ScraperOptions) {
    this.#config = config;
    this.#host = host;
    this.#url = scrapeUrl(config, endpoint.address);
    const limits = { timeoutMs: config.timeout, bodyBytesMax: config.maxPageBytes };
    const tls = httpTlsOf({ ...config, serverName: config.serverName ?? endpoint.hostName });
    this.#getOptions = config.scheme === 'https' ? { ...limits, tls } : limits;
    this.add(endpoint);
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

  add(endpoint: Endpoint): void {
    const scraped = new ScrapedEndpoint(endpoint, this.#config, this.#host);
    this.#endpoints.set(endpoint.id, scraped);
  }

  /** Returns whether others are left; with none it is stopped. */
  remove(id: EndpointId): boolean {
    this.#endpoints.get(id)?.stop();
    this.#endpoints.delete(id);
    if (this.#endpoints.size > 0) return true;
    this.stop();
    return false;
  }

  stop(): void {
    this.#stopped = true;
    this.timer.stop();
    for (const each of this.#endpoints.values()) each.stop();
  }

  /** Takes an endpoint's new labels, which may name another engine. */
  relabel(endpoint: Endpoint): void {
    this.#endpoints.get(endpoint.id)?.relabel(endpoint);
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
    const workBytes = this.#handle(response, sampledAt);
    // An observer may have removed the endpoints.
    if (this.#stopped) return;
    // A server of which one rank is read answers.
    const failures = Math.min(...[...this.#endpoints.values()].map((each) => each.failures));
    this.timer.next(sampledAt, { failures, workBytes });
  }

  /** Returns what it took, in bytes searched. */
  #handle(response: HttpResponse | Error, sampledAt: Millis): number {
    const useless = this.#whyUseless(response);
    const endpoints = [...this.#endpoints.values()];
    if (useless !== undefined || response instanceof Error) {
      if (useless !== undefined) for (const each of endpoints) each.failed(useless);
      return response instanceof BodyTooLargeError ? this.#config.maxPageBytes : 0;
    }
    const page = asBuffer(response.body);
    const loads = endpoints.flatMap((each) => each.take(page, this.#url, sampledAt) ?? []);
    const load = sumOf(loads);
    if (load !== undefined && !this.#stopped) this.timer.sampled(load);
    return endpoints.reduce((sum, each) => sum + each.workBytes, page.length);
  }

  /** Undefined for an answer that may have metrics. */
  #whyUseless(response: HttpResponse | Error): UselessAnswer | undefined {
    if (response instanceof BodyTooLargeError) {
      const bound = 'maxPageBytes of the metrics-data-source is the bound';
      return ['too-large', `${response.message}; ${bound}`];
    }
    if (response instanceof Error) return ['unreachable', response.message];
    if (response.status === 200) return undefined;
    return ['status', `${this.#url.href} answered ${response.status}`];
  }
}

/** The queues of a server's ranks together; undefined where none is known. */
function sumOf(loads: readonly EndpointMetrics[]): EndpointMetrics | undefined {
  const [first, ...others] = loads;
  if (first === undefined || others.length === 0) return first;
  return others.reduce(
    (sum, each) => ({
      ...sum,
      waitingQueueSize: sum.waitingQueueSize + each.waitingQueueSize,
      runningRequests: sum.runningRequests + each.runningRequests,
    }),
    first,
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
