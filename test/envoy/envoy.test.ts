import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  envoyBinary,
  eventually,
  type Stack,
  type StackOptions,
  serveOptions,
  startEnvoyFor,
  startStack,
} from '../../bench/support/stack.ts';
import type { EnvoyConfigOptions } from '../../src/lab/envoy/render-config.ts';
import { startServe } from '../../src/serve/serve.ts';
import { isLong } from '../support/long-runs.ts';
import { startUpstream, type Upstream } from '../support/servers/upstream.ts';
import { withSubsetFilter } from '../support/subset-filter.ts';

const binary = await envoyBinary();
const MODES: readonly EnvoyConfigOptions['wiring'][] = ['envoy', 'envoy-efficient'];

function chat(content: string, extra: object = {}): string {
  return JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], ...extra });
}

function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

/** Each is awaited before the next. */
const KEPT_ALIVE = isLong ? 5000 : 500;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe.skipIf(binary === undefined).each(MODES)(
  'through a real Envoy configured by %s.yaml',
  (envoy) => {
    let upstream: Upstream;
    let stack: Stack;

    beforeAll(async () => {
      upstream = await startUpstream();
      stack = await startStack(binary ?? '', { envoy, endpoints: [upstream.address] });
    });
    afterAll(async () => {
      await stack?.stop();
      await upstream?.stop();
    });

    it(`routes ${KEPT_ALIVE} requests over one kept-alive connection without one 5xx`, async () => {
      const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 });
      const { hostname, port } = new URL(stack.url);
      const body = chat('hi');
      const statuses = new Map<number, number>();
      for (let n = 0; n < KEPT_ALIVE; n++) {
        const status = await new Promise<number>((resolve, reject) => {
          const headers = { 'content-type': 'application/json', 'content-length': body.length };
          const request = httpRequest(
            { hostname, port, agent, method: 'POST', path: '/v1/chat/completions', headers },
            (response) => {
              response.resume();
              response.on('end', () => resolve(response.statusCode ?? 0));
            },
          );
          request.on('error', reject);
          request.end(body);
        });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
      agent.destroy();
      expect([...statuses]).toEqual([[200, KEPT_ALIVE]]);
      await eventually(stack.inFlight, (count) => count === 0);
    });

    it.each([400_000, 8_000_000])('delivers a prompt of %d bytes byte for byte', async (size) => {
      const body = chat(
        Array.from({ length: size / 8 }, (_, index) => `${index}`.padStart(7) + ' ').join(''),
      );
      const response = await post(stack.url, body);
      expect(response.status).toBe(200);
      expect(upstream.received.at(-1)).toMatchObject({
        bodyBytes: body.length,
        bodySha256: sha256(body),
      });
    });

    it('passes an event stream chunk by chunk, as the model server sends it', async () => {
      let next: () => void = () => undefined;
      upstream.answer(async (_received, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let chunk = 0; chunk < 5; chunk++) {
          // The next chunk is sent when the client has received the previous one.
          const asked = new Promise<void>((resolve) => {
            next = resolve;
          });
          response.write(`data: {"chunk":${chunk}}\n\n`);
          await asked;
        }
        response.end('data: [DONE]\n\n');
      });
      const response = await post(stack.url, chat('stream', { stream: true }));
      let text = '';
      for await (const bytes of response.body ?? []) {
        text += Buffer.from(bytes).toString();
        next();
      }
      upstream.answer((_received, reply) => void reply.end('{}'));
      expect(text.match(/data: /g)).toHaveLength(6);
    });

    it('does not change repeated response headers and the answer', async () => {
      const answer = '{"model":"m",  "usage":{"prompt_tokens":5,"completion_tokens":2}}';
      upstream.answer((_received, response) => {
        response.setHeader('set-cookie', ['a=1', 'b=2']);
        response.end(answer);
      });
      const response = await post(stack.url, chat('cookies'));
      expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
      expect(await response.text()).toBe(answer);
    });

    it('removes control headers that a client sends, and overwrites the destination', async () => {
      await post(stack.url, chat('control'), {
        'x-gateway-destination-endpoint': '10.9.9.9:1',
        'x-prefiller-host-port': '10.9.9.9:2',
        'x-data-parallel-host-port': '10.9.9.9:3',
        'x-kv-cache-source-host-port': '10.9.9.9:4',
        'x-other': 'kept',
      });
      const headers = upstream.received.at(-1)?.headers ?? {};
      expect(headers['x-gateway-destination-endpoint']).toBe(upstream.address);
      expect(headers['x-prefiller-host-port']).toBeUndefined();
      expect(headers['x-data-parallel-host-port']).toBeUndefined();
      expect(headers['x-kv-cache-source-host-port']).toBeUndefined();
      expect(headers['x-other']).toBe('kept');
    });

    it.each([
      ['invalid JSON', '{"model": nope}'],
      ['a body cut short', '{"model":"m"'],
      ['a missing model', '{"messages":[{}]}'],
    ])('answers %s with a 400 in OpenAI’s error shape', async (_what, body) => {
      const response = await fetch(`${stack.url}/v1/chat/completions`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
      expect(response.status).toBe(400);
      const { error } = (await response.json()) as { error: { message: string; type: string } };
      expect(error.type).toBe('invalid_request_error');
      expect(error.message).not.toBe('');
      await eventually(stack.inFlight, (count) => count === 0);
    });

    it('passes unknown paths and bodies, and requests without a body', async () => {
      expect((await fetch(`${stack.url}/v1/models`)).status).toBe(200);
      const empty = await fetch(`${stack.url}/v1/chat/completions`, { method: 'POST' });
      expect(empty.status).toBe(200);
      const raw = await fetch(`${stack.url}/v1/files`, { method: 'POST', body: 'not json' });
      expect(raw.status).toBe(200);
      expect(upstream.received.at(-1)).toMatchObject({ path: '/v1/files', bodyBytes: 8 });
    });

    it('completes a request whose body ends with trailers', async () => {
      const { hostname, port } = new URL(stack.url);
      const request = httpRequest({
        hostname,
        port,
        method: 'POST',
        path: '/v1/chat/completions',
        headers: {
          'content-type': 'application/json',
          trailer: 'x-sum',
          'transfer-encoding': 'chunked',
        },
      });
      request.write(chat('with trailers'));
      request.addTrailers({ 'x-sum': '1' });
      request.end();
      const [response] = (await once(request, 'response')) as [
        { statusCode: number; resume(): void },
      ];
      response.resume();
      expect(response.statusCode).toBe(200);
    });

    it('releases the reservation of a client that disconnects', async () => {
      let arrived: () => void = () => undefined;
      const inside = new Promise<void>((resolve) => {
        arrived = resolve;
      });
      upstream.answer(() => arrived());
      const leaving = new AbortController();
      const response = fetch(`${stack.url}/v1/chat/completions`, {
        method: 'POST',
        body: chat('never answered'),
        headers: { 'content-type': 'application/json' },
        signal: leaving.signal,
      });
      await inside;
      expect(await stack.inFlight()).toBe(1);
      leaving.abort();
      await expect(response).rejects.toThrow();
      await eventually(stack.inFlight, (count) => count === 0);
      upstream.answer((_received, reply) => void reply.end('{}'));
    });
  },
);

describe.skipIf(binary === undefined)('a picker behind a real Envoy', () => {
  it('respects a subset hint with ports, and answers 503 when nothing matches', async () => {
    const upstreams = [await startUpstream(), await startUpstream()];
    const endpoints = upstreams.map(({ address }) => address);
    const stack = await startStack(binary ?? '', {
      envoy: 'envoy',
      endpoints,
      edit: withSubsetFilter,
    });
    for (const address of endpoints) {
      for (let n = 0; n < 3; n++)
        await post(stack.url, chat('subset'), { 'x-test-subset': address });
    }
    expect(upstreams.map(({ received }) => received.length)).toEqual([3, 3]);
    const refused = await post(stack.url, chat('subset'), { 'x-test-subset': '10.1.1.1:80' });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('x-llm-d-request-dropped-reason')).toBe('rejected-no-endpoints');
    await stack.stop();
    await Promise.all(upstreams.map((upstream) => upstream.stop()));
  });

  it.each([
    [false, 500],
    [true, 503],
  ])(
    'leaves Envoy to its failure mode when it is killed (allow %s: %d), and serves again after a restart',
    async (failureModeAllow, status) => {
      const upstream = await startUpstream();
      const options: StackOptions = {
        envoy: 'envoy',
        endpoints: [upstream.address],
        failureModeAllow,
      };
      const first = await startServe(
        serveOptions({ endpoints: [upstream.address], drainTimeoutMs: 0 }),
      );
      const envoy = await startEnvoyFor(binary ?? '', options, first.extProcPort);
      expect((await post(envoy.url, chat('before'))).status).toBe(200);
      await first.stop();
      const during = (await post(envoy.url, chat('during'))).status;
      expect(during >= 500).toBe(true);
      expect([status, 500, 503, 504]).toContain(during);
      const again = await startServe(
        serveOptions({ endpoints: [upstream.address], extProcPort: first.extProcPort }),
      );
      await eventually(
        async () => (await post(envoy.url, chat('after'))).status,
        (code) => code === 200,
      );
      await envoy.stop();
      await again.stop();
      await upstream.stop();
    },
  );

  it('works over TLS with a self-signed certificate, and without the response side', async () => {
    const upstream = await startUpstream();
    for (const serve of [{ insecure: false }, { halfCloseAfterPick: true }]) {
      const stack = await startStack(binary ?? '', {
        envoy: 'envoy',
        endpoints: [upstream.address],
        serve,
      });
      for (let n = 0; n < 20; n++)
        expect((await post(stack.url, chat('x'.repeat(50_000)))).status).toBe(200);
      await eventually(stack.inFlight, (count) => count === 0);
      await stack.stop();
    }
    await upstream.stop();
  });
});
