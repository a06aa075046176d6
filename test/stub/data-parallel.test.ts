import { describe, expect, it } from 'vitest';
import { stubPoolForTests } from './stub-pool.ts';

const stub = stubPoolForTests({ count: 2, dataParallelSize: 2, startupMs: 0 });
const elsewhere = stubPoolForTests({ count: 2, spread: 'addresses', host: '127.0.0.8' });

function complete(url: string, headers: Record<string, string> = {}): Promise<Response> {
  const body = JSON.stringify({
    model: 'm',
    prompt: 'x'.repeat(200),
    max_tokens: 1,
    ignore_eos: true,
  });
  return fetch(url, { method: 'POST', headers, body });
}

async function served(endpoint: number): Promise<string | undefined> {
  const page = await (await fetch(stub.url('/metrics', endpoint))).text();
  return /^vllm:request_success_total\{(engine="\d"),finished_reason="length".* 1\.0$/m.exec(
    page,
  )?.[1];
}

describe('a stub with data-parallel ranks', () => {
  it('listens once for each rank of each server, and labels its metrics with the rank', async () => {
    expect(stub.pool().endpoints.map(({ rank }) => rank)).toEqual([0, 1, 0, 1]);
    expect((await complete(stub.url('/v1/completions', 3))).headers.get('x-inference-pod')).toBe(
      'stub-1',
    );
    expect(await served(3)).toBe('engine="1"');
    expect(await served(2)).toBeUndefined();
  });

  it('serves on any port the rank that a request asks for', async () => {
    await (await complete(stub.url('/v1/completions', 1), { 'x-data-parallel-rank': '0' })).text();
    expect(await served(0)).toBe('engine="0"');
    expect(await served(1)).toBeUndefined();
  });

  it.each(['2', '-1'])('refuses rank “%s”', async (rank) => {
    const answer = await complete(stub.url('/v1/completions'), { 'x-data-parallel-rank': rank });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('which has 0 to 1');
  });
});

it('stubs with an address each listen there', async () => {
  const hosts = elsewhere.pool().endpoints.map(({ address }) => address.split(':')[0]);
  expect(hosts).toEqual(['127.0.0.8', '127.0.0.9']);
  expect((await fetch(elsewhere.url('/health', 1))).status).toBe(200);
});
