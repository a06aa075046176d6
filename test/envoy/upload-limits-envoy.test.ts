import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { limitsFor, type ServerLimits } from '../../src/extproc/server/port/server-limits.ts';
import { sendRaw } from '../support/servers/raw-http.ts';
import { startUpstream } from '../support/servers/upstream.ts';

/** Slow and large uploads through a real Envoy: what their clients get, and what others get. */

const binary = await envoyBinary();
const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const warnings: string[] = [];
const ignore = (): void => undefined;
const log = {
  debug: ignore,
  info: ignore,
  warn: (_fields: object, message: string) => void warnings.push(message),
  error: ignore,
};

async function setUp(limits: Partial<ServerLimits>): Promise<Stack> {
  const upstream = await startUpstream();
  stops.push(() => upstream.stop());
  const stack = await startStack(binary ?? '', {
    envoy: 'envoy',
    endpoints: [upstream.address],
    serve: { limits: { ...limitsFor(2 ** 30), ...limits }, log },
  });
  stops.push(() => stack.stop());
  return stack;
}

const post = (bodyBytes: number): string =>
  `POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${bodyBytes}\r\n\r\n`;
const BEGINNING = '{"model":"m","prompt":"';

function complete(url: string): Promise<Response> {
  const body = JSON.stringify({ model: 'm', prompt: 'hello' });
  const headers = { 'content-type': 'application/json' };
  return fetch(`${url}/v1/completions`, { method: 'POST', headers, body });
}

describe.skipIf(binary === undefined)('uploads through Envoy', () => {
  it('[V14] gives a client whose upload stands still 408, and closes its connection', async () => {
    const { url } = await setUp({ uploadIdleTimeoutMs: 1 });
    const answer = await sendRaw(url, [post(1000) + BEGINNING]);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toContain('"reason":"upload-timeout"');
  });

  it('[V13] gives clients beyond the budget 429 and others their answers', async () => {
    const { url, serving } = await setUp({ heldBytesMax: 4 * 2 ** 20 });
    const text = 'x'.repeat(1_000_000);
    const uploads = Array.from({ length: 8 }, () =>
      sendRaw(url, [post(2_000_000) + BEGINNING + text]),
    );
    const refused: string[] = [];
    for (const each of uploads) each.then((answer) => refused.push(answer)).catch(() => undefined);
    await eventually(
      () => refused.length,
      (count) => count >= 4,
    );
    for (const answer of refused) {
      expect(answer).toMatch(/^HTTP\/1\.1 429 /);
      expect(answer).toContain('"reason":"memory-full"');
    }
    expect((await complete(url)).status).toBe(200);
    const page = await (await fetch(`http://127.0.0.1:${serving.metricsPort}/metrics`)).text();
    expect(page).toMatch(/^pointsman_refused_requests_total\{reason="memory-full"\} [4-8]$/m);
    expect(page).toMatch(/^pointsman_held_bytes_max 4194304$/m);
    // Once, however many are refused in a minute.
    const refusals = warnings.filter((message) => message === 'requests are refused: memory-full');
    expect(refusals).toHaveLength(1);
  });

  it('[V15] gives a client beyond the bound of open requests 503', async () => {
    const { url, serving } = await setUp({ streamsMax: 1 });
    void sendRaw(url, [post(1000) + BEGINNING]).catch(() => undefined);
    const open = async (): Promise<boolean> =>
      /^pointsman_open_streams 1$/m.test(
        await (await fetch(`http://127.0.0.1:${serving.metricsPort}/metrics`)).text(),
      );
    await eventually(open, (is) => is);
    const answer = await complete(url);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { reason: 'too-many-streams' } });
  });
});

describe.each(['envoy', 'envoy-efficient', 'envoy-observer', 'envoy-fallbacks'])(
  'deploy/%s.yaml',
  (name) => {
    it('[V16] [V475] bounds the time of headers and of whole requests, and finds pickers that have vanished or stand still', () => {
      const text = readFileSync(join(import.meta.dirname, `../../deploy/${name}.yaml`), 'utf8');
      const { listeners, clusters } = (parse(text) as { readonly static_resources: Resources })
        .static_resources;
      for (const { filter_chains: chains } of listeners) {
        const manager = chains[0]?.filters[0]?.typed_config;
        expect(manager).toMatchObject({ request_headers_timeout: '10s', request_timeout: '600s' });
      }
      const pickers = clusters.filter((cluster) =>
        JSON.stringify(cluster).includes('http2_protocol'),
      );
      expect(pickers.length).toBeGreaterThan(0);
      for (const picker of pickers) {
        expect(JSON.stringify(picker)).toMatch(
          /"connection_keepalive":\{"interval":"(1|10)s","timeout":"5s"\}/,
        );
      }
    });
  },
);

interface Resources {
  readonly listeners: readonly {
    readonly filter_chains: readonly {
      readonly filters: readonly { readonly typed_config: object }[];
    }[];
  }[];
  readonly clusters: readonly object[];
}
