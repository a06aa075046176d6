import { Client, type Dispatcher } from 'undici';
import type { HttpGetOptions, HttpResponse, Network } from '../framework/runtime.ts';

/** An origin not asked for so long has left the pool; its connection is closed. */
const IDLE_MS = 30_000;
const BODY_BYTES_AT_FIRST = 32 * 1024;

export interface NodeNetwork extends Network {
  close(): Promise<void>;
}

interface Origin {
  readonly client: Client;
  /** Grows to the largest body seen and is used again for every answer of this origin. */
  body: Buffer;
  usedAt: number;
}

/** HTTP over undici, one kept-alive connection an origin, straight on its dispatcher: no streams, no promises inside. */
export function createNodeNetwork(): NodeNetwork {
  const origins = new Map<string, Origin>();
  const sweep = setInterval(() => {
    const before = performance.now() - IDLE_MS;
    for (const [name, origin] of origins) {
      if (origin.usedAt >= before) continue;
      origins.delete(name);
      void origin.client.destroy();
    }
  }, IDLE_MS);
  sweep.unref();

  function originOf(name: string): Origin {
    let origin = origins.get(name);
    if (origin === undefined) {
      const client = new Client(name, {
        pipelining: 1,
        // Ours are below; undici's own are checked on a coarser clock.
        headersTimeout: 0,
        bodyTimeout: 0,
        keepAliveTimeout: IDLE_MS,
        connect: { rejectUnauthorized: false },
      });
      origin = { client, body: Buffer.allocUnsafe(BODY_BYTES_AT_FIRST), usedAt: 0 };
      origins.set(name, origin);
    }
    origin.usedAt = performance.now();
    return origin;
  }

  return {
    get: (url, options) => get(originOf(url.origin), url, options),
    close: async () => {
      clearInterval(sweep);
      await Promise.all([...origins.values()].map(({ client }) => client.destroy()));
      origins.clear();
    },
  };
}

function get(origin: Origin, url: URL, options: HttpGetOptions): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const exchange = new Exchange(origin, url, options, resolve, reject);
    origin.client.dispatch({ method: 'GET', path: url.pathname + url.search }, exchange);
  });
}

/** One answer being read into its origin's buffer. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #origin: Origin;
  readonly #url: URL;
  readonly #options: HttpGetOptions;
  readonly #resolve: (response: HttpResponse) => void;
  readonly #reject: (error: Error) => void;
  readonly #deadline: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #bytes = 0;
  #ended = false;

  constructor(
    origin: Origin,
    url: URL,
    options: HttpGetOptions,
    resolve: (response: HttpResponse) => void,
    reject: (error: Error) => void,
  ) {
    this.#origin = origin;
    this.#url = url;
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#deadline = setTimeout(() => this.#expire(), options.timeoutMs);
    this.#deadline.unref();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#ended) controller.abort(new Error('too late'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number): void {
    this.#status = statusCode;
    this.#bytes = 0;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const bytes = this.#bytes + chunk.length;
    if (bytes > this.#options.bodyBytesMax) {
      controller.abort(
        new Error(`${this.#url.href} answered more than ${this.#options.bodyBytesMax} bytes`),
      );
      return;
    }
    if (bytes > this.#origin.body.length) {
      const larger = Buffer.allocUnsafe(Math.max(bytes, 2 * this.#origin.body.length));
      this.#origin.body.copy(larger, 0, 0, this.#bytes);
      this.#origin.body = larger;
    }
    chunk.copy(this.#origin.body, this.#bytes);
    this.#bytes = bytes;
  }

  onResponseEnd(): void {
    this.#end();
    this.#resolve({ status: this.#status, body: this.#origin.body.subarray(0, this.#bytes) });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#ended) return;
    this.#end();
    this.#reject(error);
  }

  #expire(): void {
    if (this.#ended) return;
    this.#end();
    const error = new Error(
      `${this.#url.href} did not answer within ${this.#options.timeoutMs} ms`,
    );
    this.#controller?.abort(error);
    this.#reject(error);
  }

  #end(): void {
    this.#ended = true;
    clearTimeout(this.#deadline);
  }
}
