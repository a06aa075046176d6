import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';

/**
 * Of four servers behind a real Envoy, one ends its streams too soon, and clients leave another.
 */

const binary = await envoyBinary();
const PART = 'data: {"choices":[{"text":"a"}]}\n\n';
const WHOLE = (response: ServerResponse): void => void response.end(`${PART}data: [DONE]\n\n`);
const TOO_SOON = (response: ServerResponse): void => void response.end(PART);
const NO_END = (response: ServerResponse): void => void response.write(PART);
/** More than an endpoint is ejected after, by far. */
const LEAVING = 40;

describe.skipIf(binary === undefined)('answers that end too soon', () => {
  const servers: Server[] = [];
  const addresses: string[] = [];
  let stack: Stack;

  beforeAll(async () => {
    for (const answer of [WHOLE, WHOLE, TOO_SOON, NO_END]) {
      const server = createServer((request, response) => {
        request.resume();
        const type = request.method === 'POST' ? 'text/event-stream' : 'text/plain';
        response.writeHead(200, { 'content-type': type });
        if (request.method === 'POST') answer(response);
        else response.end('vllm:num_requests_waiting 0\nvllm:num_requests_running 0\n');
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      servers.push(server);
      addresses.push(`127.0.0.1:${(server.address() as AddressInfo).port}`);
    }
    stack = await startStack(binary ?? '', {
      envoy: 'envoy',
      endpoints: addresses,
      config: 'round-robin',
    });
  }, 60_000);
  afterAll(async () => {
    await stack?.stop();
    for (const server of servers) server.closeAllConnections();
    for (const server of servers) server.close();
  });

  const ejected = async (): Promise<readonly string[]> => {
    const url = `http://127.0.0.1:${stack.serving.metricsPort}/debug/endpoints`;
    const { endpoints } = (await (await fetch(url)).json()) as {
      endpoints: readonly { readonly address: string; readonly ejected: unknown }[];
    };
    return endpoints.filter((each) => each.ejected !== false).map(({ address }) => address);
  };

  /** Leaves where the answer of the server has begun and does not end. */
  async function ask(): Promise<'left' | 'read'> {
    const leaving = new AbortController();
    const response = await fetch(`${stack.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', prompt: 'x', stream: true }),
      signal: leaving.signal,
    });
    if (response.headers.get('content-type') !== 'text/event-stream') return 'read';
    const reader = response.body?.getReader();
    const first = await reader?.read();
    if (new TextDecoder().decode(first?.value).includes('[DONE]')) return 'read';
    const next = reader?.read().then(({ done }) => done === true);
    next?.catch(() => undefined);
    const isOver = await Promise.race([
      next,
      new Promise((resolve) => setImmediate(resolve, false)),
    ]);
    if (isOver === true) return 'read';
    leaving.abort();
    return 'left';
  }

  it('[V430][V431] eject the endpoint, and clients that leave within an answer do not', async () => {
    let left = 0;
    const out = new Set<string>();
    for (let sent = 0; sent < 2000 && (left < LEAVING || out.size === 0); sent++) {
      if ((await ask()) === 'left') left += 1;
      for (const address of await ejected()) out.add(address);
    }
    expect(left).toBeGreaterThanOrEqual(LEAVING);
    expect([...out]).toEqual([addresses[2]]);
    await eventually(
      () => stack.inFlight(),
      (requests) => requests === 0,
    );
  }, 60_000);
});
