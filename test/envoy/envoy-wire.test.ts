import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { type EnvoyConfigOptions } from '../../src/lab/envoy/render-config.ts';
import { byteSource } from '../support/byte-source.ts';
import { chat, JSON_TYPE, postChat } from '../support/servers/chat-request.ts';
import { sendRaw } from '../support/servers/raw-http.ts';
import { sha256, startUpstream, type Upstream } from '../support/servers/upstream.ts';

const drawBytes = byteSource(22);

const binary = await envoyBinary();
const WIRINGS: readonly EnvoyConfigOptions['wiring'][] = ['envoy', 'envoy-efficient'];

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
    const body = chat(drawBytes(300_000).toString('hex'));
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
    expect((await postChat(stack.url, '')).status).toBe(200);
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
    const response = await postChat(stack.url, chat('x'));
    expect([response.status, await response.text()]).toEqual([500, 'engine dead']);
    await eventually(stack.inFlight, (count) => count === 0);
  });
});
