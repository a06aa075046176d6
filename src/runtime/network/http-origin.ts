import { performance } from 'node:perf_hooks';
import type { Client, Dispatcher } from 'undici';
import type { HttpGetOptions, HttpResponse, HttpTls, Millis } from '../../framework/runtime.ts';
import { httpConnector } from './http-connector.ts';
import { HttpExchange } from './http-exchange.ts';
import { loadUndici } from './load-packages.ts';
import { PlainConnection } from './plain-connection.ts';
import { ReusedBody } from './reused-body.ts';

/**
 * One server: its connection, and the memory its answers are read into. Pages without TLS come over
 * a connection that knows no more of HTTP than they need, until one needs more.
 */
export class HttpOrigin {
  readonly #name: string;
  readonly #keepAliveMs: Millis;
  readonly #tls: HttpTls | undefined;
  readonly #body = new ReusedBody();
  readonly #open = new Set<HttpExchange>();
  #client: Client | undefined;
  /** Undefined where answers need a whole HTTP client. */
  #plain: PlainConnection | undefined;
  #usedAt: Millis = 0;
  #isClosed = false;

  constructor(name: string, keepAliveMs: Millis, tls: HttpTls | undefined) {
    this.#name = name;
    this.#keepAliveMs = keepAliveMs;
    this.#tls = tls;
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
    this.#usedAt = performance.now();
    return new Promise((resolve, reject) => {
      const exchange = new HttpExchange({
        url,
        options,
        body: this.#body,
        onEnd: (outcome) => {
          this.#open.delete(exchange);
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
        },
        onUnsent: () => this.#reconnect(),
      });
      this.#open.add(exchange);
      this.#client ??= this.#connect();
      this.#client.dispatch(request, exchange);
    });
  }

  /** Packets are lost. A new connection tries at once; the old one waits longer each time. */
  #reconnect(): void {
    if ([...this.#open].some(({ started }) => started)) return;
    void this.#client?.destroy();
    this.#client = this.#connect();
  }

  #connect(): Client {
    const { Client: UndiciClient } = loadUndici();
    return new UndiciClient(this.#name, {
      pipelining: 1,
      // Each exchange has its own deadline. undici's are per part, with a resolution of 0.5 s.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: this.#keepAliveMs,
      connect: httpConnector(this.#tls),
    });
  }
}
