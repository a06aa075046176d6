import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Document } from 'yaml';
import {
  envoyBinary,
  eventually,
  type Stack,
  type StackOptions,
  showBeginnings,
  startStack,
} from '../../bench/support/stack.ts';
import { CONNECTION_MANAGER, type EnvoyConfigOptions } from '../../src/lab/envoy/render-config.ts';
import { sendRaw } from '../support/servers/raw-http.ts';
import { startUpstream, type Upstream } from '../support/servers/upstream.ts';

const binary = await envoyBinary();
const WIRINGS: readonly EnvoyConfigOptions['wiring'][] = ['envoy', 'envoy-efficient'];
const JSON_TYPE = { 'content-type': 'application/json' };

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function chat(content: string): string {
  return JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] });
}

function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  const path = `${url}/v1/chat/completions`;
  return fetch(path, { method: 'POST', body, headers: { ...JSON_TYPE, ...headers } });
}

describe.skipIf(binary === undefined).each(WIRINGS)('on the wire behind %s.yaml', (envoy) => {
  let upstream: Upstream;
  let stack: Stack;

  beforeAll(async () => {
    upstream = await startUpstream();
    stack = await startStack(binary ?? '', { envoy, endpoints: [upstream.address] });
  });
  afterEach(() => upstream.answer((_received, response) => void response.end('{}')));
  afterAll(async () => {
    await stack?.stop();
    await upstream?.stop();
  });

  it('delivers a body that arrives in small pieces over many turns', async () => {
    const body = chat(randomBytes(300_000).toString('hex'));
    const { hostname, port } = new URL(stack.url);
    const request = httpRequest({
      hostname,
      port,
      method: 'POST',
      path: '/v1/chat/completions',
      headers: JSON_TYPE,
    });
    const response = once(request, 'response') as Promise<[{ statusCode: number; resume(): void }]>;
    for (let at = 0; at < body.length; at += 20_000) {
      await new Promise<void>((resolve) => {
        request.write(body.slice(at, at + 20_000), () => setImmediate(resolve));
      });
    }
    request.end();
    const [{ statusCode }] = await response;
    expect(statusCode).toBe(200);
    expect(upstream.received.at(-1)?.bodySha256).toBe(sha256(body));
  });

  it('lets request trailers through to the model server', async () => {
    let trailers: object = {};
    const server = createServer((request, response) => {
      request.resume().on('end', () => {
        // The picker reads its metrics page beside it.
        if (request.method === 'POST') trailers = request.trailers;
        response.end('{}');
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const own = await startStack(binary ?? '', { envoy, endpoints: [address] });
    const { hostname, port } = new URL(own.url);
    const headers = { ...JSON_TYPE, 'transfer-encoding': 'chunked', trailer: 'x-sum' };
    const request = httpRequest({
      hostname,
      port,
      method: 'POST',
      path: '/v1/chat/completions',
      headers,
    });
    request.write(chat('with trailers'));
    request.addTrailers({ 'x-sum': '42' });
    request.end();
    const [response] = (await once(request, 'response')) as [
      { statusCode: number; resume(): void },
    ];
    response.resume();
    expect([response.statusCode, trailers]).toEqual([200, { 'x-sum': '42' }]);
    await own.stop();
    server.closeAllConnections();
    server.close();
  });

  it('lets response trailers through to the client', async () => {
    upstream.answer((_received, response) => {
      response.writeHead(200, { trailer: 'x-took' });
      response.write('{}');
      response.addTrailers({ 'x-took': '7' });
      response.end();
    });
    const { hostname, port } = new URL(stack.url);
    const headers = { ...JSON_TYPE, te: 'trailers' };
    const request = httpRequest({
      hostname,
      port,
      method: 'POST',
      path: '/v1/chat/completions',
      headers,
    });
    request.end(chat('x'));
    const [response] = (await once(request, 'response')) as [
      { resume(): void; readonly trailers: object; once(event: string, done: () => void): void },
    ];
    response.resume();
    await new Promise<void>((resolve) => response.once('end', resolve));
    expect(response.trailers).toEqual({ 'x-took': '7' });
    await eventually(stack.inFlight, (count) => count === 0);
  });

  it('[P4] lets the model server answer requests without a body', async () => {
    for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST']) {
      const response = await fetch(`${stack.url}/v1/models?verbose=1`, { method });
      expect([method, response.status]).toEqual([method, 200]);
      expect(upstream.received.at(-1)).toMatchObject({ method, path: '/v1/models?verbose=1' });
    }
    expect((await post(stack.url, '')).status).toBe(200);
    await eventually(stack.inFlight, (count) => count === 0);
  });

  it('passes header bytes that are not UTF-8', async () => {
    const body = chat('bytes');
    const answer = await sendRaw(stack.url, [
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nx-raw: \xe9\xff\r\n\r\n`,
      body,
    ]);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(upstream.received.at(-1)?.headers['x-raw']).toBe('\xe9\xff');
  });

  it('releases the reservation when a client disconnects during an answer', async () => {
    upstream.answer((_received, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {}\n\n');
    });
    const leaving = new AbortController();
    const { signal } = leaving;
    const response = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      body: chat('left'),
      headers: JSON_TYPE,
      signal,
    });
    await response.body?.getReader().read();
    expect(await stack.inFlight()).toBe(1);
    leaving.abort();
    await eventually(stack.inFlight, (count) => count === 0);
  });

  it('keeps nothing of a client that disconnects during its request', async () => {
    const { hostname, port } = new URL(stack.url);
    const headers = { ...JSON_TYPE, 'content-length': '1000' };
    const request = httpRequest({
      hostname,
      port,
      method: 'POST',
      path: '/v1/chat/completions',
      headers,
    });
    const gone = once(request, 'error');
    request.write('{"model":');
    await eventually(sessionsOf, (count) => count === 1);
    request.destroy(new Error('left'));
    await gone;
    await eventually(sessionsOf, (count) => count === 0);
    expect(await stack.inFlight()).toBe(0);
  });

  async function sessionsOf(): Promise<number> {
    const page = await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/debug/endpoints`);
    return ((await page.json()) as { readonly sessions: number }).sessions;
  }

  it('counts the error answer of a model server and passes it on unchanged', async () => {
    upstream.answer((_received, response) => {
      response.writeHead(500, { 'content-type': 'text/plain' });
      response.end('engine dead');
    });
    const response = await post(stack.url, chat('x'));
    expect([response.status, await response.text()]).toEqual([500, 'engine dead']);
    await eventually(stack.inFlight, (count) => count === 0);
  });
});

/**
 * Fallbacks as deploy/envoy.yaml describes them: a cluster that knows its endpoints and tries the
 * named ones in order.
 */
function withOverrideHost(config: Document, upstreams: readonly Upstream[]): void {
  const type = 'type.googleapis.com/envoy.extensions.load_balancing_policies';
  const lb_endpoints = upstreams.map(({ address: text }) => {
    const [address, port] = text.split(':');
    return { endpoint: { address: { socket_address: { address, port_value: Number(port) } } } };
  });
  const roundRobin = {
    name: 'round_robin',
    typed_config: { '@type': `${type}.round_robin.v3.RoundRobin` },
  };
  const overrideHost = {
    name: 'envoy.load_balancing_policies.override_host',
    typed_config: {
      '@type': `${type}.override_host.v3.OverrideHost`,
      override_host_sources: [{ header: 'x-gateway-destination-endpoint' }],
      fallback_policy: { policies: [{ typed_extension_config: roundRobin }] },
    },
  };
  const cluster = {
    name: 'picked_endpoint',
    type: 'STATIC',
    load_balancing_policy: { policies: [{ typed_extension_config: overrideHost }] },
    load_assignment: { cluster_name: 'picked_endpoint', endpoints: [{ lb_endpoints }] },
  };
  config.setIn(['static_resources', 'clusters', 0], config.createNode(cluster));
  const routes = [...CONNECTION_MANAGER, 'route_config', 'virtual_hosts', 0, 'routes'];
  const retries = { retry_on: 'reset,connect-failure', num_retries: 1 };
  config.setIn([...routes, 0, 'route', 'retry_policy'], config.createNode(retries));
}

describe.skipIf(binary === undefined)('a picker with other wirings', () => {
  const EXT_PROC = [...CONNECTION_MANAGER, 'http_filters', 0, 'typed_config'];

  async function withPool(
    count: number,
    use: (upstreams: readonly Upstream[]) => Promise<void>,
  ): Promise<void> {
    const upstreams = await Promise.all(Array.from({ length: count }, () => startUpstream()));
    try {
      await use(upstreams);
    } finally {
      await Promise.all(upstreams.map((upstream) => upstream.stop()));
    }
  }

  async function withStack(
    options: Omit<StackOptions, 'endpoints'>,
    count: number,
    use: (stack: Stack, upstreams: readonly Upstream[]) => Promise<void>,
  ): Promise<void> {
    await withPool(count, async (upstreams) => {
      const endpoints = upstreams.map(({ address }) => address);
      const stack = await startStack(binary ?? '', { ...options, endpoints });
      try {
        await use(stack, upstreams);
      } finally {
        await stack.stop();
      }
    });
  }

  it('reads a BUFFERED request body while it does not get the response body', async () => {
    const edit = (config: Document): void => {
      config.setIn([...EXT_PROC, 'processing_mode', 'request_body_mode'], 'BUFFERED');
      config.deleteIn([...EXT_PROC, 'send_body_without_waiting_for_header_response']);
    };
    await withStack({ envoy: 'envoy-efficient', edit }, 1, async (stack, [upstream]) => {
      const body = chat('y'.repeat(500_000));
      expect((await post(stack.url, body)).status).toBe(200);
      expect(upstream?.received.at(-1)?.bodySha256).toBe(sha256(body));
      await eventually(stack.inFlight, (count) => count === 0);
    });
  });

  it('picks before the proxy’s buffer is full, so that large bodies never stall', async () => {
    const edit = (config: Document): void => {
      config.setIn(
        ['static_resources', 'listeners', 0, 'per_connection_buffer_limit_bytes'],
        256 * 1024,
      );
    };
    await withStack({ envoy: 'envoy-efficient', edit }, 1, async (stack, [upstream]) => {
      const body = chat('z'.repeat(8_000_000));
      expect((await post(stack.url, body)).status).toBe(200);
      expect(upstream?.received.at(-1)?.bodySha256).toBe(sha256(body));
    });
  });

  it('[B245] sends large bodies whole where it shows the picker only their beginning', async () => {
    const options = { envoy: 'envoy-efficient', edit: showBeginnings } as const;
    await withStack(options, 1, async (stack, [upstream]) => {
      for (const bytes of [10, 60_000, 70_000, 400_000, 8_000_000]) {
        const body = chat('z'.repeat(bytes));
        expect((await post(stack.url, body)).status).toBe(200);
        expect(upstream?.received.at(-1)?.bodySha256).toBe(sha256(body));
      }
      await eventually(stack.inFlight, (count) => count === 0);
    });
  });

  it('names fallbacks after its first choice, which a capable proxy tries in order', async () => {
    const config = 'test/fixtures/two-destinations.yaml';
    await withPool(2, async (upstreams) => {
      const edit = (envoy: Document): void => withOverrideHost(envoy, upstreams);
      const [broken, sound] = upstreams;
      broken?.answer((_received, response) => void response.destroy());
      const stack = await startStack(binary ?? '', {
        envoy: 'envoy',
        config,
        edit,
        endpoints: upstreams.map(({ address }) => address),
      });
      for (let n = 0; n < 12; n++) expect((await post(stack.url, chat(`${n}`))).status).toBe(200);
      expect(sound?.received).toHaveLength(12);
      for (const { headers } of sound?.received ?? []) {
        const named = String(headers['x-gateway-destination-endpoint']).split(',');
        expect(new Set(named)).toEqual(new Set(upstreams.map(({ address }) => address)));
      }
      expect(broken?.received.length).toBeGreaterThan(0);
      await stack.stop();
    });
  });

  it('spreads requests over the pool', async () => {
    await withStack({ envoy: 'envoy', config: 'round-robin' }, 3, async (stack, upstreams) => {
      for (let n = 0; n < 30; n++) expect((await post(stack.url, chat(`${n}`))).status).toBe(200);
      expect(upstreams.map(({ received }) => received.length)).toEqual([10, 10, 10]);
    });
  });
});
