import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as the model server received it. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly bodyBytes: number;
  readonly bodySha256: string;
}

export type Handler = (received: Received, response: ServerResponse) => void | Promise<void>;

export interface Upstream {
  readonly address: string;
  readonly received: readonly Received[];
  /** Sets the answer to later requests. */
  answer(handler: Handler): void;
  stop(): Promise<void>;
}

/** The hash that `Received` has of a body. */
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const PAGE = `vllm:num_requests_running{model_name="m"} 0
vllm:num_requests_waiting{model_name="m"} 0
vllm:kv_cache_usage_perc{model_name="m"} 0
vllm:cache_config_info{block_size="16",num_gpu_blocks="27000"} 1
`;

/** A simple model server that keeps the requests it has received. */
export async function startUpstream(): Promise<Upstream> {
  const received: Received[] = [];
  let handler: Handler = (_received, response) => void response.end('{"ok":true}');
  const server = createServer((request, response) => {
    if (request.url === '/metrics') {
      response.end(PAGE);
      return;
    }
    const hash = createHash('sha256');
    let bodyBytes = 0;
    request.on('data', (chunk: Buffer) => {
      bodyBytes += chunk.length;
      hash.update(chunk);
    });
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const got = { method, path: url, headers, bodyBytes, bodySha256: hash.digest('hex') };
      received.push(got);
      void handler(got, response);
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer: (next) => {
      handler = next;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
