import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { envoyBinary, type Stack, startStack } from '../../bench/support/stack.ts';
import { listen } from '../../src/runtime/network/server/listen.ts';

const binary = await envoyBinary();
const stops: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

/** A model server without a metrics page, which reports its load where it is asked. */
async function startReporting(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    const asked = request.headers['endpoint-load-metrics-format'];
    const report =
      'TEXT named_metrics.kv_cache_usage_perc=0.5, named_metrics.num_requests_waiting=3';
    if (request.method === 'GET') response.statusCode = 404;
    else if (asked === 'TEXT') response.setHeader('endpoint-load-metrics', report);
    request.on('end', () => void response.end('{}'));
  });
  const port = await listen(server, '127.0.0.1', 0);
  stops.push(() => new Promise((done) => void server.close(done)));
  stops.push(async () => server.closeAllConnections());
  return `127.0.0.1:${port}`;
}

async function metricsIn({ serving }: Stack): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${serving.metricsPort}/debug/endpoints`);
  const { endpoints } = (await response.json()) as { endpoints: readonly { metrics?: unknown }[] };
  return endpoints[0]?.metrics;
}

describe.skipIf(binary === undefined)('load reports behind a real Envoy', () => {
  it.each([true, false])(
    '[P46] of a server without a metrics page are its load, and stay hidden from clients: asked for %s',
    async (loadReports) => {
      const endpoints = [await startReporting()];
      const stack = await startStack(binary ?? '', {
        envoy: 'envoy',
        endpoints,
        serve: { loadReports },
      });
      stops.push(stack.stop);
      const response = await fetch(`${stack.url}/v1/completions`, {
        method: 'POST',
        body: JSON.stringify({ model: 'm', prompt: 'hi' }),
        headers: { 'content-type': 'application/json' },
      });
      expect([response.status, await response.text()]).toEqual([200, '{}']);
      expect(response.headers.has('endpoint-load-metrics')).toBe(false);
      const reported = { waitingQueueSize: 3, runningRequests: 0, kvCacheUsage: 0.5 };
      // With I/O workers it comes from another thread.
      await expect.poll(() => metricsIn(stack)).toEqual(loadReports ? reported : undefined);
    },
  );
});
