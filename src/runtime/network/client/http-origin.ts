import { performance } from 'node:perf_hooks';
import type { Client, Dispatcher } from 'undici';
import type { HttpGetOptions, HttpResponse, HttpTls, Millis } from '../../../framework/runtime.ts';
import { loadUndici } from '../../modules/load-packages.ts';
import { FloodingServerError, HeadGuard, UNBOUNDED_HEAD_BYTES } from './head-guard.ts';
import { httpConnector } from './http-connector.ts';
import { HttpExchange } from './http-exchange.ts';
import type { OutgoingFiles } from './outgoing-files.ts';
import { PlainConnection } from './plain-connection.ts';
import { ReusedBody } from './reused-body.ts';

/** A server that floods its client is left alone for so long at first, and at most. */
const REST_MS: Millis = 1000;
const REST_MAX_MS: Millis = 30_000;

/**
 * One server: its connection, and the memory its answers are read into. Pages without TLS come over
 * a connection that knows no more of HTTP than they need, until one needs more.
 */
export class HttpOrigin {
  readonly #name: string;
  readonly #keepAliveMs: Millis;
  readonly #tls: HttpTls | undefined;
  readonly #files: OutgoingFiles;
  readonly #body = new ReusedBody();
  readonly #open = new Set<HttpExchange>();
  #client: Client | undefined;
  #guard: HeadGuard | undefined;
  /**
   * Why and for how long the server is not asked; undefined where it has not flooded its client.
   */
  #rest: { readonly why: Error; readonly ms: Millis; readonly until: Millis } | undefined;
  /** Undefined where answers need a whole HTTP client. */
  #plain: PlainConnection | undefined;
  #usedAt: Millis = 0;
  #isClosed = false;

  constructor(name: string, keepAliveMs: Millis, tls: HttpTls | undefined, files: OutgoingFiles) {
    this.#name = name;
    this.#keepAliveMs = keepAliveMs;
    this.#tls = tls;
    this.#files = files;
    // Windows would fill the memory that all these connections share while another reads it.
    const mayBePlain = name.startsWith('http:') && process.platform !== 'win32';
    this.#plain = mayBePlain ? new PlainConnection() : undefined;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  isIdleSince(before: Millis): boolean {
    return this.load === 0 && this.#usedAt < before;
  }

  /** The number of exchanges under way or waiting for their turn. */
  get load(): number {
    return this.#open.size + (this.#plain?.isBusy === true ? 1 : 0);
  }

  get(url: URL, options: HttpGetOptions): Promise<HttpResponse> {
    const plain = this.#plain;
    if (plain === undefined || plain.isBusy) return this.#getAny(url, options);
    this.#usedAt = performance.now();
    return new Promise((resolve, reject) => {
      plain.get(url, options, (outcome) => {
        if (outcome instanceof Error) reject(outcome);
        else if (outcome !== 'not-plain') resolve(outcome);
        else {
          this.#plain = undefined;
          this.#getAny(url, options).then(resolve, reject);
        }
      });
    });
  }

  #getAny(url: URL, options: HttpGetOptions): Promise<HttpResponse> {
    return this.#exchange({ method: 'GET', path: url.pathname + url.search }, url, options);
  }

  post(url: URL, body: Uint8Array, options: HttpGetOptions): Promise<HttpResponse> {
    const headers = { 'content-type': 'application/json' };
    const path = url.pathname + url.search;
    return this.#exchange({ method: 'POST', path, body, headers }, url, options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#plain?.close();
    await this.#client?.destroy();
  }

  #exchange(
    request: Dispatcher.DispatchOptions,
    url: URL,
    options: HttpGetOptions,
  ): Promise<HttpResponse> {
    const now = performance.now();
    this.#usedAt = now;
    if (this.#rest !== undefined && now < this.#rest.until) return Promise.reject(this.#rest.why);
    return new Promise((resolve, reject) => {
      const exchange = new HttpExchange({
        url,
        options,
        body: this.#body,
        onEnd: (outcome) => {
          this.#open.delete(exchange);
          this.#learn(outcome);
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
        },
        onProgress: () => this.#guard?.progressed(),
        onUnsent: () => this.#reconnect(),
      });
      this.#open.add(exchange);
      this.#client ??= this.#connect();
      this.#client.dispatch(request, exchange);
    });
  }

  /**
   * Reading a flood takes some milliseconds, so that a server that floods is not asked again at
   * once.
   */
  #learn(outcome: HttpResponse | Error): void {
    if (!(outcome instanceof Error)) this.#rest = undefined;
    else if (outcome.cause instanceof FloodingServerError) {
      const ms = Math.min(REST_MAX_MS, 2 * (this.#rest?.ms ?? REST_MS / 2));
      const why = new Error(`${outcome.message}; it is not asked for ${ms / 1000} s`);
      this.#rest = { why, ms, until: performance.now() + ms };
    }
  }

  /** Packets are lost. A new connection tries at once; the old one waits longer each time. */
  #reconnect(): void {
    if ([...this.#open].some(({ started }) => started)) return;
    // What waits there has not been sent either.
    void this.#client?.destroy(new Error('no connection was made in time; another one is tried'));
    this.#client = this.#connect();
  }

  #connect(): Client {
    const { Client: UndiciClient } = loadUndici();
    const connector = httpConnector(this.#tls, this.#files);
    return new UndiciClient(this.#name, {
      pipelining: 1,
      // Each exchange has its own deadline. undici's are per part, with a resolution of 0.5 s.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: this.#keepAliveMs,
      maxHeaderSize: UNBOUNDED_HEAD_BYTES,
      connect: (target, callback) =>
        connector(target, (...[error, socket]) => {
          if (error !== null) return callback(error, null);
          this.#guard = new HeadGuard(socket);
          callback(null, socket);
        }),
    });
  }
}
