import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import { messageOf } from '../../framework/error.ts';
import type { DataSource, DataSourceHost } from '../../framework/plugin.ts';
import type { HttpGetOptions, Millis, Random, Timer } from '../../framework/runtime.ts';
import { type HttpTlsParameters, httpTlsOf } from '../../plugins/parameters/http-tls.ts';
import { type ScrapeFailure, scrapeErrorsOf } from './scrape-errors.ts';

/** Each poll is early or late by up to this share of the interval: so polls stay spread. */
const JITTER = 0.1;
/** The interval doubles after each failure, up to this or the interval itself. */
const BACKOFF_MAX_MS: Millis = 10_000;

export interface PollConfig extends HttpTlsParameters {
  readonly scheme: 'http' | 'https';
  readonly interval: Millis;
}

/** Takes the pages of one endpoint. */
export interface PageSink {
  /** Throws an Error, whose message says what is wrong with the page. */
  take(page: Uint8Array): void;
  /** The last page could not be had or read. */
  failed?(): void;
  /** No more pages come. */
  leave?(): void;
}

interface PagePollerOptions {
  readonly config: PollConfig;
  readonly host: DataSourceHost;
  /** The type of the data source, for metrics. */
  readonly sourceType: string;
  readonly timeoutMs: Millis;
  readonly bodyBytesMax: number;
  /** Where the endpoint has its page; undefined where it has none. */
  readonly urlOf: (endpoint: Endpoint) => URL | undefined;
  readonly sinkOf: (endpoint: Endpoint) => PageSink;
}

/** Reads a page of each endpoint at once and then at the interval, one poll at a time. */
export class PagePoller implements DataSource {
  readonly #options: PagePollerOptions;
  readonly #random: Random;
  readonly #polls = new Map<EndpointId, EndpointPoll>();

  constructor(options: PagePollerOptions) {
    this.#options = options;
    this.#random = options.host.runtime.random.fork(options.host.name);
  }

  onEndpointAdded(endpoint: Endpoint): void {
    const url = this.#options.urlOf(endpoint);
    if (url === undefined) return;
    const random = this.#random.fork(endpoint.id);
    this.#polls.set(endpoint.id, new EndpointPoll(this.#options, { endpoint, url, random }));
  }

  onEndpointRemoved({ id }: Endpoint): void {
    this.#polls.get(id)?.stop();
    this.#polls.delete(id);
  }

  stop(): void {
    for (const poll of this.#polls.values()) poll.stop();
    this.#polls.clear();
  }
}

interface PollTarget {
  readonly endpoint: Endpoint;
  readonly url: URL;
  readonly random: Random;
}

class EndpointPoll {
  readonly #options: PagePollerOptions;
  readonly #target: PollTarget;
  readonly #getOptions: HttpGetOptions;
  readonly #sink: PageSink;
  #failures = 0;
  #polls = 0;
  #timer: Timer;
  #stopped = false;

  constructor(options: PagePollerOptions, target: PollTarget) {
    this.#options = options;
    this.#target = target;
    const { config, timeoutMs, bodyBytesMax, sourceType } = options;
    const serverName = config.serverName ?? target.endpoint.hostName;
    const tls = config.scheme === 'https' ? httpTlsOf({ ...config, serverName }) : undefined;
    this.#getOptions = { timeoutMs, bodyBytesMax, sourceType, ...(tls && { tls }) };
    this.#sink = options.sinkOf(target.endpoint);
    this.#timer = options.host.runtime.clock.setTimer(0, this.#onTimer);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer.cancel();
    this.#sink.leave?.();
    scrapeErrorsOf(this.#options.host.pool).stopped(this, this.#target.endpoint.id);
  }

  readonly #onTimer = (): void => void this.#poll();

  async #poll(): Promise<void> {
    const { clock, network } = this.#options.host.runtime;
    const sentAt = clock.now();
    let failed: readonly [ScrapeFailure, string] | undefined;
    try {
      const { status, body } = await network.get(this.#target.url, this.#getOptions);
      if (this.#stopped) return;
      const { href } = this.#target.url;
      failed = status === 200 ? this.#take(body) : ['status', `${href} answered ${status}`];
    } catch (error) {
      failed = ['unreachable', messageOf(error)];
    }
    if (this.#stopped) return;
    this.#report(failed);
    this.#schedule(sentAt);
  }

  #take(page: Uint8Array): readonly [ScrapeFailure, string] | undefined {
    try {
      this.#sink.take(page);
      return undefined;
    } catch (error) {
      return ['no-series', `${this.#target.url.href}: ${messageOf(error)}`];
    }
  }

  #report(failed: readonly [ScrapeFailure, string] | undefined): void {
    const { pool, runtime } = this.#options.host;
    const errors = scrapeErrorsOf(pool);
    const at = runtime.clock.wallTime();
    const { endpoint } = this.#target;
    if (failed === undefined) {
      if (this.#failures > 0 || this.#polls === 0) errors.succeeded(this, endpoint.id, at);
      this.#failures = 0;
      return;
    }
    this.#sink.failed?.();
    const [failure, reason] = failed;
    this.#failures += 1;
    const inSuccession = this.#failures;
    const source = this.#options.sourceType;
    errors.failed(this, { endpoint, failure, reason, source, inSuccession, at });
  }

  #schedule(sentAt: Millis): void {
    const { interval } = this.#options.config;
    const { clock } = this.#options.host.runtime;
    const backoff = interval * 2 ** Math.min(this.#failures, 10);
    const wanted = Math.min(backoff, Math.max(BACKOFF_MAX_MS, interval));
    const { random } = this.#target;
    const share = this.#polls === 0 ? random.next() : 1 + JITTER * (2 * random.next() - 1);
    this.#polls += 1;
    this.#timer = clock.setTimer(Math.max(0, sentAt + wanted * share - clock.now()), this.#onTimer);
  }
}
