import { randomUUID } from 'node:crypto';
import { serveOptions } from '../../../bench/support/stack.ts';
import { GATEWAY_BOUNDS } from '../../../src/gateway/gateway-bounds.ts';
import type { ServeSettings } from '../../../src/serve/options/serve-options.ts';
import { type Serving, startServe } from '../../../src/serve/serve.ts';
import { stubOptions } from '../../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../../stub-server/pool.ts';
import { gatewayBefore } from '../servers/gateway-before.ts';

type Gateway = Awaited<ReturnType<typeof gatewayBefore>>;

/** Port 9 answers nothing: the endpoint there is never scraped. */
const DEAD = '127.0.0.1:9';

/** Stubs, a picker and the embedded gateway, for what shows a picker at work. */
export class LiveStack {
  readonly #pool: StubPool;
  readonly #gateway: Gateway;
  readonly #options: Partial<ServeSettings>;
  serving: Serving;

  private constructor(
    pool: StubPool,
    gateway: Gateway,
    serving: Serving,
    options: Partial<ServeSettings>,
  ) {
    this.#pool = pool;
    this.#gateway = gateway;
    this.serving = serving;
    this.#options = options;
  }

  static async start(more: Partial<ServeSettings> = {}): Promise<LiveStack> {
    const pool = await startStubPool(stubOptions.parse({ count: 3, port: 0, speed: 10 }));
    const endpoints = [...pool.endpoints.map(({ address }) => address), DEAD];
    const options = { endpoints, poolName: 'llama', policy: 'default', ...more };
    const serving = await startServe(serveOptions(options));
    const gateway = await gatewayBefore(serving.extProcPort, { bounds: GATEWAY_BOUNDS });
    const { extProcPort, metricsPort } = serving;
    return new LiveStack(pool, gateway, serving, { ...options, extProcPort, metricsPort });
  }

  get admin(): string {
    return `127.0.0.1:${this.serving.metricsPort}`;
  }

  /** Sends streamed requests, one after another; resolves to the ids that they were given. */
  async send(requests: number): Promise<readonly string[]> {
    const ids: string[] = [];
    for (let n = 0; n < requests; n++) {
      const id = randomUUID();
      const prompt = `${`family ${n % 3} `.repeat(200)} ${n}`;
      const response = await fetch(`http://127.0.0.1:${this.#gateway.port}/v1/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-request-id': id },
        body: JSON.stringify({ model: 'stub-model', prompt, max_tokens: 2, stream: true }),
      });
      await response.text();
      ids.push(id);
    }
    return ids;
  }

  stopPicker(): Promise<void> {
    return this.serving.stop();
  }

  /** Another picker on the same ports. */
  async startPicker(): Promise<void> {
    this.serving = await startServe(serveOptions(this.#options));
  }

  async stop(): Promise<void> {
    await this.serving.stop();
    await this.#gateway.stop();
    await this.#pool.stop();
  }
}
