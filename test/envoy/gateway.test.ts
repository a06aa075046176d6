import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually, inFlightAt, serveOptions } from '../../bench/support/stack.ts';
import { SERVING_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Gateway } from '../../src/gateway/start-gateway.ts';
import { type Serving, startServe } from '../../src/serve/serve.ts';
import { chat, JSON_TYPE, postChat } from '../support/servers/chat-request.ts';
import { gatewayBefore } from '../support/servers/gateway-before.ts';
import { sha256, startUpstream, type Upstream } from '../support/servers/upstream.ts';

describe.each([
  ['in full duplex', {}],
  ['with TLS', { insecure: false }],
  ['with a picker that gives up the response side', { halfCloseAfterPick: true }],
])('the embedded gateway %s', (_name, serve) => {
  let upstream: Upstream;
  let serving: Serving;
  let gateway: Gateway;
  let url: string;

  beforeAll(async () => {
    upstream = await startUpstream();
    serving = await startServe(serveOptions({ endpoints: [upstream.address], ...serve }));
    gateway = await gatewayBefore(serving.extProcPort, { extProcTls: 'insecure' in serve });
    url = `http://127.0.0.1:${gateway.port}`;
  });
  afterEach(() => upstream.answer((_received, response) => void response.end('{"ok":true}')));
  afterAll(async () => {
    await gateway?.stop();
    await serving?.stop();
    await upstream?.stop();
  });

  const post = (body: string, headers?: Record<string, string>): Promise<Response> =>
    postChat(url, body, headers);

  /**
   * Expects every reservation to be released. Where no end is observed, that takes longer and is
   * not expected.
   */
  async function released(): Promise<void> {
    if ('halfCloseAfterPick' in serve) return;
    await eventually(
      () => inFlightAt(serving.metricsPort),
      (count) => count === 0,
    );
  }

  it.each([10, 400_000, 8_000_000])('delivers a prompt of %d bytes byte for byte', async (size) => {
    const body = chat('0123456789'.repeat(size / 10));
    const response = await post(body);
    expect([response.status, await response.text()]).toEqual([200, '{"ok":true}']);
    expect(upstream.received.at(-1)).toMatchObject({
      bodyBytes: body.length,
      bodySha256: sha256(body),
    });
    await released();
  });

  it('passes an event stream chunk by chunk', async () => {
    let next = Promise.withResolvers<void>();
    upstream.answer(async (_received, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let chunk = 0; chunk < 5; chunk++) {
        next = Promise.withResolvers<void>();
        response.write(`data: ${chunk}\n\n`);
        // The next chunk is sent when the client has received this one.
        await next.promise;
      }
      response.end();
    });
    let text = '';
    for await (const bytes of (await post(chat('stream'))).body ?? []) {
      text += Buffer.from(bytes).toString();
      next.resolve();
    }
    expect(text).toBe([0, 1, 2, 3, 4].map((chunk) => `data: ${chunk}\n\n`).join(''));
  });

  it('keeps repeated headers and the model server’s status', async () => {
    upstream.answer((_received, response) => {
      response.setHeader('set-cookie', ['a=1', 'b=2']);
      response.statusCode = 418;
      response.end('teapot');
    });
    const response = await post(chat('x'));
    expect([response.status, await response.text()]).toEqual([418, 'teapot']);
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  });

  it('removes control headers and does not let a client choose its destination', async () => {
    await post(chat('x'), {
      'x-gateway-destination-endpoint': '10.9.9.9:1',
      'x-prefiller-host-port': '10.9.9.9:2',
    });
    const headers = upstream.received.at(-1)?.headers ?? {};
    expect(headers['x-gateway-destination-endpoint']).toBe(upstream.address);
    expect(headers['x-prefiller-host-port']).toBeUndefined();
  });

  it('passes the picker’s refusal on', async () => {
    const response = await post('{"model": nope}');
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
  });

  it('routes requests without a body', async () => {
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      expect((await fetch(`${url}/v1/models`, { method })).status).toBe(200);
      expect(upstream.received.at(-1)).toMatchObject({ method, path: '/v1/models' });
    }
  });

  it('releases everything of a client that disconnects', async () => {
    const arrived = Promise.withResolvers<void>();
    const cut = Promise.withResolvers<void>();
    upstream.answer((_received, response) => {
      response.once('close', () => cut.resolve());
      arrived.resolve();
    });
    const leaving = new AbortController();
    const { signal } = leaving;
    const path = `${url}/v1/chat/completions`;
    const pending = fetch(path, { method: 'POST', body: chat('x'), headers: JSON_TYPE, signal });
    await arrived.promise;
    leaving.abort();
    await expect(pending).rejects.toThrow();
    await cut.promise;
    await released();
  });

  it('completes a request whose body ends with trailers', async () => {
    const headers = { ...JSON_TYPE, 'transfer-encoding': 'chunked', trailer: 'x-sum' };
    const request = httpRequest(`${url}/v1/chat/completions`, { method: 'POST', headers });
    request.write(chat('trailers'));
    request.addTrailers({ 'x-sum': '1' });
    request.end();
    const [response] = (await once(request, 'response')) as [
      { statusCode: number; resume(): void },
    ];
    response.resume();
    expect(response.statusCode).toBe(200);
  });

  it('[G177] reports a picked endpoint that closes the connection', async () => {
    upstream.answer((_received, response) => void response.destroy());
    const response = await post(chat('x'));
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      error: { type: 'server_error', code: 503, reason: 'gateway' },
    });
    await released();
  });
});

describe('the embedded gateway without a picker', () => {
  it('answers 503, and serves when the picker is there', async () => {
    const upstream = await startUpstream();
    const first = await startServe(serveOptions({ endpoints: [upstream.address] }));
    const lines: string[] = [];
    const log = (line: string): void => void lines.push(line);
    const gateway = await gatewayBefore(first.extProcPort, { log });
    expect(lines.join()).toContain('the embedded gateway, not Envoy');
    const send = async (): Promise<number> => {
      const path = `http://127.0.0.1:${gateway.port}/v1/chat/completions`;
      return (await fetch(path, { method: 'POST', body: chat('x'), headers: JSON_TYPE })).status;
    };
    expect(await send()).toBe(200);
    await first.stop();
    expect(await send()).toBe(503);
    const extProcPort = first.extProcPort;
    const again = await startServe(serveOptions({ endpoints: [upstream.address], extProcPort }));
    await eventually(send, (status) => status === 200);
    await gateway.stop();
    await again.stop();
    await upstream.stop();
  });
});

it('[O209] reports to the picker an endpoint that it cannot reach', async () => {
  const serving = await startServe(serveOptions({ endpoints: ['127.0.0.1:9'] }));
  const gateway = await gatewayBefore(serving.extProcPort);
  try {
    const url = `http://127.0.0.1:${gateway.port}/v1/chat/completions`;
    const response = await fetch(url, { method: 'POST', body: chat('x'), headers: JSON_TYPE });
    expect([response.status, await response.text()]).toEqual([
      503,
      expect.stringContaining('the picked endpoint cannot be reached'),
    ]);
    const metrics = await fetch(`http://127.0.0.1:${serving.metricsPort}/metrics`);
    // A request that the client ended would say nothing about the endpoint.
    expect(await metrics.text()).not.toMatch(/pointsman_aborted_requests_total\{[^}]*\} [1-9]/);
  } finally {
    await gateway.stop();
    await serving.stop();
  }
});

it('[Q290] sends a request on to the next of the picker’s choices, and the picker knows which one served', async () => {
  const upstream = await startUpstream();
  const plan = loadConfig({
    source: 'test',
    catalogue: SERVING_CATALOGUE,
    text: `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
  - type: round-robin-scorer
  - type: max-score-picker
    parameters: { maxNumOfEndpoints: 2 }
ejection: { enabled: false }
`,
  });
  const endpoints = ['127.0.0.1:9', upstream.address];
  const serving = await startServe(serveOptions({ endpoints, plan }));
  const gateway = await gatewayBefore(serving.extProcPort);
  try {
    const url = `http://127.0.0.1:${gateway.port}/v1/chat/completions`;
    const statuses = [];
    for (let sent = 0; sent < 10; sent++) {
      const answer = await fetch(url, { method: 'POST', body: chat('x'), headers: JSON_TYPE });
      statuses.push(answer.status);
    }
    expect(statuses).toEqual(statuses.map(() => 200));
    const metrics = await (await fetch(`http://127.0.0.1:${serving.metricsPort}/metrics`)).text();
    expect(metrics).toMatch(/^pointsman_fallback_requests_total 5$/m);
    await eventually(
      () => inFlightAt(serving.metricsPort),
      (count) => count === 0,
    );
  } finally {
    await gateway.stop();
    await serving.stop();
    await upstream.stop();
  }
});
