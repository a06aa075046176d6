import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Stack, StackOptions } from '../../bench/support/stack.ts';

/** How a server answers a request for a stream; its headers have been sent. */
export type AnswerWay = (response: ServerResponse) => void;

export const PART = 'data: {"choices":[{"text":"a"}]}\n\n';
export const WHOLE: AnswerWay = (response) => void response.end(`${PART}data: [DONE]\n\n`);
const LEAVE = 'data: {"choices":[{"text":"leave"}]}\n\n';
/** Clients leave within its answers, which have no end. */
export const IS_LEFT: AnswerWay = (response) => void response.write(LEAVE);

/** After a piece that the gateway has passed on. */
const cut =
  (way: AnswerWay): AnswerWay =>
  (response) => {
    response.write(PART);
    setTimeout(way, 20, response);
  };
export const RESETS: AnswerWay = cut(({ socket }) => socket?.resetAndDestroy());
export const CLOSES: AnswerWay = cut(({ socket }) => socket?.destroy());
export const SENDS_NO_CHUNK: AnswerWay = cut(({ socket }) => socket?.write('no chunk\r\n'));
/** More than an endpoint is ejected after, by far. */
const LEAVING = 40;

export interface AnswersBed {
  readonly addresses: readonly string[];
  /** Leaves where the server is one that is left, and else reads as far as the answer goes. */
  ask(): Promise<'left' | 'read' | 'broken'>;
  /** Addresses of endpoints that are ejected. */
  ejected(): Promise<readonly string[]>;
  inFlight(): Promise<number>;
  stop(): Promise<void>;
}

/** A server for each way to answer, behind a gateway whose picker takes them in turn. */
export async function startAnswersBed(
  ways: readonly AnswerWay[],
  startGateway: (options: Required<Pick<StackOptions, 'endpoints' | 'config'>>) => Promise<Stack>,
): Promise<AnswersBed> {
  const servers = await Promise.all(ways.map(startServer));
  const addresses = servers.map((server) => `127.0.0.1:${(server.address() as AddressInfo).port}`);
  const stack = await startGateway({ endpoints: addresses, config: 'round-robin' });
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

/** The endpoints that are ejected until clients have left many answers and one endpoint is out. */
export async function ejectedWhileSomeLeave(bed: AnswersBed): Promise<readonly string[]> {
  const out = new Set<string>();
  let left = 0;
  for (let sent = 0; sent < 2000 && (left < LEAVING || out.size === 0); sent++) {
    if ((await bed.ask()) === 'left') left += 1;
    for (const address of await bed.ejected()) out.add(address);
  }
  if (left < LEAVING) throw new Error(`of ${LEAVING} answers only ${left} were left`);
  return [...out];
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
