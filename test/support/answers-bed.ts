import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type StackOptions, startStack } from '../../bench/support/stack.ts';

/** How a server answers a request for a stream; its headers have been sent. */
export type AnswerWay = (response: ServerResponse) => void;

export const PART = 'data: {"choices":[{"text":"a"}]}\n\n';
export const WHOLE: AnswerWay = (response) => void response.end(`${PART}data: [DONE]\n\n`);
const LEAVE = 'data: {"choices":[{"text":"leave"}]}\n\n';
/** Clients leave within its answers, which have no end. */
export const IS_LEFT: AnswerWay = (response) => void response.write(LEAVE);

export interface AnswersBed {
  readonly addresses: readonly string[];
  /** Leaves where the server is one that is left, and else reads as far as the answer goes. */
  ask(): Promise<'left' | 'read' | 'broken'>;
  /** Addresses of endpoints that are ejected. */
  ejected(): Promise<readonly string[]>;
  inFlight(): Promise<number>;
  stop(): Promise<void>;
}

/** A server for each way to answer, behind a real Envoy that asks a picker in turn. */
export async function startAnswersBed(
  binary: string,
  ways: readonly AnswerWay[],
  envoy: StackOptions['envoy'] = 'envoy',
): Promise<AnswersBed> {
  const servers = await Promise.all(ways.map(startServer));
  const addresses = servers.map((server) => `127.0.0.1:${(server.address() as AddressInfo).port}`);
  const stack = await startStack(binary, { envoy, endpoints: addresses, config: 'round-robin' });
  return {
    addresses,
    ask: () => ask(stack.url),
    ejected: () => ejectedAt(stack.serving.metricsPort),
    inFlight: () => stack.inFlight(),
    stop: async () => {
      await stack.stop();
      for (const server of servers) server.closeAllConnections();
      for (const server of servers) server.close();
    },
  };
}

async function startServer(answer: AnswerWay): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume();
    const type = request.method === 'POST' ? 'text/event-stream' : 'text/plain';
    response.writeHead(200, { 'content-type': type });
    if (request.method === 'POST') answer(response);
    else response.end('vllm:num_requests_waiting 0\nvllm:num_requests_running 0\n');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function ejectedAt(metricsPort: number): Promise<readonly string[]> {
  const { endpoints } = (await (
    await fetch(`http://127.0.0.1:${metricsPort}/debug/endpoints`)
  ).json()) as {
    endpoints: readonly { readonly address: string; readonly ejected: unknown }[];
  };
  return endpoints.filter((each) => each.ejected !== false).map(({ address }) => address);
}

async function ask(url: string): Promise<'left' | 'read' | 'broken'> {
  const leaving = new AbortController();
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', prompt: 'x', stream: true }),
    signal: leaving.signal,
  });
  const reader = response.body?.getReader();
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) return 'read';
      if (!new TextDecoder().decode(value).includes('leave')) continue;
      leaving.abort();
      return 'left';
    }
  } catch {
    return 'broken';
  }
}
