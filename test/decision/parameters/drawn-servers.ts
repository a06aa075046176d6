import { encode } from '@msgpack/msgpack';
import type {
  Call,
  CallOptions,
  HttpGetOptions,
  HttpResponse,
  MessageSocket,
  MessageSocketOptions,
  Network,
} from '../../../src/framework/runtime.ts';
import type { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';
import { sequenceBytes, stored } from '../../support/precise-index.ts';
import { tokenIds } from './drawn-requests.ts';

const ANSWER_MS = 3;
/** What each engine of a pool reports of itself, by its number: they differ in everything. */
function metricsPage(number: number, turn: number): string {
  const vary = (by: number): number => (number * by + turn) % 11;
  return [
    `vllm:num_requests_running{engine="0"} ${vary(3)}`,
    `vllm:num_requests_waiting{engine="0"} ${vary(5)}`,
    `vllm:kv_cache_usage_perc{engine="0"} ${vary(7) / 11}`,
    `vllm:cache_config_info{block_size="128",num_gpu_blocks="${8 + number}",pages="${5 + number}"} 1`,
    `vllm:lora_requests_info{running_lora_adapters="adapter",waiting_lora_adapters="",max_lora="${1 + (number % 3)}"} ${turn}`,
    `sglang:num_running_reqs ${vary(2)}`,
    `sglang:num_queue_reqs ${vary(9)}`,
    `sglang:token_usage ${vary(4) / 11}`,
    `other_metric{a="b"} ${vary(8) / 11}`,
    `other_metric{a="c"} ${vary(10) / 11}`,
    `other_lora{running_lora_adapters="m2",waiting_lora_adapters="",max_lora="4"} ${turn}`,
    `other_info{block_size="256",num_gpu_blocks="${4 + number}",pages="${300 + number}"} 1`,
    'block_size 256',
    `num_blocks ${20 + number}`,
    'other_size 128',
    `other_blocks ${5 + number}`,
    `llm_d_epp_average_kv_cache_utilization{name="p"} ${vary(6) / 11}`,
    `llm_d_epp_average_queue_size{name="p"} ${vary(3)}`,
    `DCGM_FI_DEV_GPU_UTIL{gpu="0"} ${vary(6) * 9}`,
  ]
    .map((line) => `${line}\n`)
    .join('');
}

const models = (number: number): object => ({
  object: 'list',
  data: [{ id: ['m', 'adapter', 'm2'][number % 3], object: 'model' }],
});

/** Servers on simulated time that tell what they are asked, and how. */
export class DrawnServers {
  /** One line for each thing that was asked or opened. */
  readonly asked: string[] = [];
  readonly #clock: SimulatedClock;
  readonly #sockets: MessageSocketOptions[] = [];
  #turn = 0;

  constructor(clock: SimulatedClock) {
    this.#clock = clock;
  }

  readonly network: Network = {
    get: (url, options) => this.#answer('get', url, options, () => this.#page(url)),
    post: (url, body, options) =>
      this.#answer(`post ${Buffer.from(body).toString().slice(0, 80)}`, url, options, () =>
        JSON.stringify(this.#rendered(url, Buffer.from(body).toString())),
      ),
    openMessages: (options): MessageSocket => {
      const { kind, address, bind, curve, topic } = options;
      this.asked.push(`socket ${JSON.stringify({ kind, address, bind, curve, topic })}`);
      if (kind === 'subscriber') this.#sockets.push(options);
      return { send: () => undefined, close: () => undefined };
    },
    openCall: ({ address, tls, method, onClosed }: CallOptions): Call => {
      this.asked.push(`call ${JSON.stringify({ address, tls, method })}`);
      this.#clock.setTimer(ANSWER_MS, () => onClosed('nobody is there'));
      return { send: () => undefined, waitingBytes: () => 0, close: () => undefined };
    },
  };

  /** Engines say what they hold now: each a part of each session's tokens. */
  publish(sequence: number): void {
    for (const [number, socket] of this.#sockets.entries()) {
      const session = (number + sequence) % 8;
      const blocks = stored(tokenIds(session, 16 * (2 + (number % 5))), {
        hash: 1 + 1000 * session,
        blockTokens: 16,
      });
      const cpu = [...(blocks as unknown[])];
      if (number % 2 === 1) cpu[6] = 'CPU';
      const batch = [sequence, [cpu], 0];
      socket.onConnected?.();
      socket.onMessage([
        new TextEncoder().encode(`kv@10.0.0.${number}:8000@m`),
        sequenceBytes(sequence),
        encode(batch, { useBigInt64: true }),
      ]);
    }
  }

  #answer(
    what: string,
    url: URL,
    { tls, timeoutMs, bodyBytesMax }: HttpGetOptions,
    page: () => string,
  ): Promise<HttpResponse> {
    const now = Math.round(this.#clock.now());
    this.asked.push(
      `${now} ${what} ${url.href} ${JSON.stringify(tls)} ${timeoutMs} ${bodyBytesMax}`,
    );
    return new Promise((resolve, reject) => {
      this.#clock.setTimer(Math.min(ANSWER_MS, timeoutMs), () => {
        const body = Buffer.from(page());
        if (timeoutMs <= ANSWER_MS) reject(new Error('too late'));
        else if (body.length > bodyBytesMax) reject(new Error('too large'));
        else resolve({ status: 200, body });
      });
    });
  }

  #page(url: URL): string {
    const other = url.pathname === '/other' ? 7 : 0;
    const number = Number(url.hostname.split('.').at(-1)) + other;
    this.#turn += 1;
    if (url.pathname === '/v1/models' || url.pathname === '/other-models')
      return JSON.stringify(models(url.pathname === '/v1/models' ? number : number + 1));
    return metricsPage(number, Math.floor(this.#turn / 40));
  }

  #rendered(url: URL, body: string): object {
    const token_ids = tokenIds(body.length % 8, 64);
    const answer = { token_ids, tokens: token_ids, count: 64, request_id: 'x', features: null };
    return url.pathname.endsWith('/chat/completions/render') ? answer : [answer];
  }
}
