import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { envoyBinary, startStack } from '../../bench/support/stack.ts';
import { listen } from '../../src/runtime/network/server/listen.ts';
import { startUpstream } from '../support/servers/upstream.ts';

const binary = await envoyBinary();
const stops: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

async function statusThrough(endpoint: string): Promise<number> {
  const stack = await startStack(binary ?? '', { envoy: 'envoy', endpoints: [endpoint] });
  stops.push(stack.stop);
  const response = await fetch(`${stack.url}/v1/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', prompt: 'hi' }),
    headers: { 'content-type': 'application/json' },
  });
  await response.text();
  return response.status;
}

describe.skipIf(binary === undefined)('a model server behind a real Envoy', () => {
  it('[V45] that is listed by a host name is sent requests', async () => {
    const upstream = await startUpstream();
    stops.push(upstream.stop);
    expect(await statusThrough(`localhost:${new URL(`http://${upstream.address}`).port}`)).toBe(
      200,
    );
  });

  it('[V47] that is listed by an IPv6 address is sent requests', async (context) => {
    const server = createServer((_request, response) => void response.end('{}'));
    const port = await listen(server, '::1', 0).catch(() => undefined);
    // Machines without IPv6 exist.
    if (port === undefined) return context.skip();
    stops.push(() => new Promise((done) => void server.close(done)));
    expect(await statusThrough(`[::1]:${port}`)).toBe(200);
    server.closeAllConnections();
  });
});
