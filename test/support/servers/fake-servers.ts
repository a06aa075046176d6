import {
  BodyTooLargeError,
  type HttpGetOptions,
  type HttpResponse,
  type HttpTls,
  type Network,
} from '../../../src/framework/runtime.ts';
import type { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';

export interface FakeServer {
  delayMs: number;
  /** Answers never. */
  dead: boolean;
  status: number;
  page: string;
}

/** Servers by `host:port`, on simulated time, their answers all in one memory. */
export class FakeServers implements Network {
  readonly servers: Map<string, FakeServer> = new Map();
  readonly sent: {
    readonly at: number;
    readonly url: string;
    readonly tls?: HttpTls | undefined;
  }[] = [];
  readonly #clock: SimulatedClock;
  #memory = Buffer.alloc(4096);
  readonly #open = new Map<string, number>();
  /** The most gets under way at once for one server. */
  openMax = 0;

  constructor(clock: SimulatedClock) {
    this.#clock = clock;
  }

  // A property, as runtimes are copied by their own properties.
  readonly get = (
    url: URL,
    { timeoutMs, bodyBytesMax, tls }: HttpGetOptions,
  ): Promise<HttpResponse> => {
    this.sent.push({ at: this.#clock.now(), url: url.href, tls });
    const open = (this.#open.get(url.host) ?? 0) + 1;
    this.#open.set(url.host, open);
    this.openMax = Math.max(this.openMax, open);
    const server = this.servers.get(url.host);
    return new Promise((resolve, reject) => {
      const waits = server === undefined || server.dead ? timeoutMs : server.delayMs;
      this.#clock.setTimer(waits, () => {
        this.#open.set(url.host, (this.#open.get(url.host) ?? 0) - 1);
        if (server === undefined || server.dead || waits >= timeoutMs) {
          reject(new Error(`${url.href} did not answer`));
        } else if (Buffer.byteLength(server.page) > bodyBytesMax) {
          reject(new BodyTooLargeError(`${url.href} answered more than ${bodyBytesMax} bytes`));
        } else resolve({ status: server.status, body: this.#write(server.page) });
      });
    });
  };

  timesOf(host: string): readonly number[] {
    return this.sent.filter(({ url }) => new URL(url).host === host).map(({ at }) => at);
  }

  #write(page: string): Buffer {
    const bytes = Buffer.byteLength(page);
    if (bytes > this.#memory.length) this.#memory = Buffer.alloc(bytes);
    this.#memory.write(page);
    return this.#memory.subarray(0, bytes);
  }
}

export function vllmPage(running: number, ...more: readonly string[]): string {
  const lines = [
    `vllm:num_requests_running{engine="0"} ${running}.0`,
    'vllm:num_requests_waiting{engine="0"} 2.0',
    'vllm:kv_cache_usage_perc{engine="0"} 0.5',
    ...more,
  ];
  return `${lines.join('\n')}\n`;
}
