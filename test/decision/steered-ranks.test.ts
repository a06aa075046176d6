import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, serveOptions } from '../../bench/support/stack.ts';
import { GATEWAY_BOUNDS } from '../../src/gateway/gateway-bounds.ts';
import type { Gateway } from '../../src/gateway/start-gateway.ts';
import { type Serving, startServe } from '../../src/serve/serve.ts';
import { stubPoolForTests } from '../stub/stub-pool.ts';
import { gatewayBefore } from '../support/servers/gateway-before.ts';

const RANKS = 3;
const stub = stubPoolForTests({ engines: RANKS });
let serving: Serving;
let gateway: Gateway;

beforeAll(async () => {
  const { address } = stub.pool().endpoints[0] ?? { address: '' };
  serving = await startServe(serveOptions({ endpoints: [address], dataParallelSize: RANKS }));
  gateway = await gatewayBefore(serving.extProcPort, { bounds: GATEWAY_BOUNDS });
  await eventually(
    async () => (await endpoints()).filter(({ fresh }) => fresh).length,
    (fresh) => fresh === RANKS,
  );
});
afterAll(async () => {
  await gateway.stop();
  await serving.stop();
});

interface ShownEndpoint {
  readonly id: string;
  readonly address: string;
  readonly fresh: boolean;
}

async function endpoints(): Promise<readonly ShownEndpoint[]> {
  const response = await fetch(`http://127.0.0.1:${serving.metricsPort}/debug/endpoints`);
  return ((await response.json()) as { readonly endpoints: readonly ShownEndpoint[] }).endpoints;
}

/** Prompt tokens that each rank has computed or found, in the order of the ranks. */
async function tokensByRank(): Promise<readonly number[]> {
  const page = await (await fetch(stub.url('/metrics'))).text();
  const lines = page.matchAll(/^vllm:prompt_tokens_total\{engine="\d".*\} (\S+)$/gm);
  return [...lines].map(([, value]) => Number(value));
}

/** Returns how many tokens of the prompt its engine held. */
async function complete(prompt: string, headers: Record<string, string> = {}): Promise<number> {
  const body = JSON.stringify({ model: 'm', prompt, max_tokens: 2 });
  const url = `http://127.0.0.1:${gateway.port}/v1/completions`;
  const type = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers: { ...type, ...headers }, body });
  expect(response.status).toBe(200);
  const { usage } = (await response.json()) as {
    readonly usage: { readonly prompt_tokens_details?: { readonly cached_tokens?: number } };
  };
  return usage.prompt_tokens_details?.cached_tokens ?? 0;
}

it('[Q324] a prompt goes again to the rank that holds it, whatever rank the client names', async () => {
  expect((await endpoints()).map(({ address }) => address)).toEqual(
    Array.from({ length: RANKS }, () => stub.pool().endpoints[0]?.address),
  );
  const prompt = 'y'.repeat(4000);
  expect(await complete(prompt)).toBe(0);
  const before = await tokensByRank();
  const rank = before.findIndex((tokens) => tokens > 0);
  for (let other = 0; other < RANKS; other++) {
    const headers = { 'x-data-parallel-rank': String(other) };
    expect(await complete(prompt, headers)).toBeGreaterThan(900);
  }
  const after = await tokensByRank();
  expect(after.findIndex((tokens) => tokens > 0)).toBe(rank);
  expect(after.filter((tokens) => tokens > 0)).toHaveLength(1);
});
