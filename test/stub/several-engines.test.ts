import { decode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { Subscriber } from 'zeromq';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { readPoolFile } from '../../stub-server/options/stub-pool-file.ts';
import { checkMetrics, fetchPromtool } from '../support/programs/promtool.ts';
import { stubPoolForTests } from './stub-pool.ts';

const ENGINES = 3;
const stub = stubPoolForTests({ count: 2, engines: ENGINES, lorasMax: 2, loraEnabled: true });
const sglang = stubPoolForTests({ engines: 2, engine: 'sglang' });
const publishing = stubPoolForTests({ engines: 2, kvEventsPort: 0 });

/** Starts to answer one token, or more, to a prompt of 50 tokens. */
function complete(
  url: string,
  headers: Record<string, string> = {},
  tokens = 1,
): Promise<Response> {
  const prompt = 'x'.repeat(200);
  const body = JSON.stringify({ model: 'm', prompt, max_tokens: tokens, ignore_eos: true });
  return fetch(url, { method: 'POST', headers, body });
}

async function answered(url: string, headers: Record<string, string> = {}): Promise<string> {
  return (await complete(url, headers)).text();
}

async function pageOf(url: string): Promise<string> {
  return (await fetch(url)).text();
}

/** The value of a series of each engine, in the order of the page. */
async function valuesOf(name: string, server = 0): Promise<readonly number[]> {
  const page = await pageOf(stub.url('/metrics', server));
  const lines = page.matchAll(new RegExp(`^${name}\\{engine="\\d".*\\} (\\S+)$`, 'gm'));
  return [...lines].map(([, value]) => Number(value));
}

describe('[B255] a stub server with several engines behind one port', () => {
  it('has one address, and on its page the series of each engine', async () => {
    expect(stub.pool().endpoints).toHaveLength(2);
    await answered(stub.url('/v1/completions', 1), { 'x-data-parallel-rank': '2' });
    const { length } = await valuesOf('vllm:kv_cache_usage_perc', 1);
    expect(length).toBe(ENGINES);
    expect(await valuesOf('vllm:prompt_tokens_total', 1)).toEqual([0, 0, 50]);
    const page = await pageOf(stub.url('/metrics', 1));
    expect(page.match(/^# TYPE vllm:num_requests_running /gm)).toHaveLength(1);
    expect(page.match(/^vllm:cache_config_info\{.*engine="\d"/gm)).toHaveLength(ENGINES);
    expect(page.match(/^vllm:lora_requests_info\{/gm)).toHaveLength(1);
    expect(await pageOf(sglang.url('/metrics'))).toMatch(/^sglang:num_queue_reqs\{dp_rank="1"/m);
  });

  it('shows a page that promtool accepts', async (context) => {
    const promtool = await fetchPromtool();
    context.skip(promtool === undefined, 'promtool cannot be fetched');
    const found = await checkMetrics(promtool ?? '', await pageOf(stub.url('/metrics')));
    expect(found).not.toMatch(/error|invalid|unexpected|duplicate/i);
  });

  it('keeps a prefix cache for each', async () => {
    const cached = async (rank: string): Promise<unknown> =>
      JSON.parse(await answered(stub.url('/v1/completions'), { 'x-data-parallel-rank': rank }))
        .usage.prompt_tokens_details?.cached_tokens;
    await cached('0');
    expect(await cached('0')).toBe(48);
    expect((await cached('1')) ?? 0).toBe(0);
  });

  it('refuses a rank that it does not have', async () => {
    const answer = await complete(stub.url('/v1/completions'), { 'x-data-parallel-rank': '3' });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('which has 0 to 2');
  });

  it('[B257] spreads requests that name no rank over its engines', async () => {
    const before = await valuesOf('vllm:prompt_tokens_total');
    await Promise.all(Array.from({ length: ENGINES }, () => answered(stub.url('/v1/completions'))));
    const after = await valuesOf('vllm:prompt_tokens_total');
    expect(after.map((tokens, rank) => tokens - (before[rank] ?? 0))).toEqual([50, 50, 50]);
  });

  it('takes the pool file of a simulation that has engines', () => {
    const [options] = readPoolFile('servers: [{ engines: 8 }]', 'pool.yaml');
    expect(options?.engines).toBe(8);
  });

  it.each([
    [{ dataParallelSize: 2 }, 'dataParallelSize'],
    [{ engine: 'trtllm' }, 'trtllm'],
    [{ fakeMetrics: {} }, 'fakeMetrics'],
  ])('refuses %j beside them', (other, named) => {
    expect(() => stubOptions.parse({ engines: 2, ...other })).toThrow(named);
  });
});

describe('[B259] what concerns a server concerns all its engines', () => {
  it('adapters and sleep', async () => {
    const body = JSON.stringify({ lora_name: 'a', lora_path: 'a' });
    await fetch(stub.url('/v1/load_lora_adapter'), { method: 'POST', body });
    const loaded = (await pageOf(stub.url('/metrics'))).match(/^vllm:lora_adapter_loaded\{/gm);
    expect(loaded).toHaveLength(ENGINES);
    await fetch(stub.url('/sleep'), { method: 'POST' });
    const page = await pageOf(stub.url('/metrics'));
    expect(page.match(/^vllm:engine_sleep_state\{.*awake"\} 0\.0$/gm)).toHaveLength(ENGINES);
    await fetch(stub.url('/wake_up'), { method: 'POST' });
    await fetch(stub.url('/v1/unload_lora_adapter'), { method: 'POST', body });
    expect(await pageOf(stub.url('/metrics'))).not.toContain('vllm:lora_adapter_loaded{');
  });

  it('a crash, which ends the requests of all of them', async () => {
    const url = stub.url('/v1/completions');
    const requests = Array.from({ length: ENGINES }, async (_, rank) => {
      const answer = await complete(url, { 'x-data-parallel-rank': `${rank}` }, 100_000);
      return answer.status;
    });
    await expect.poll(() => valuesOf('vllm:num_requests_running')).toEqual([1, 1, 1]);
    await fetch(stub.url('/stub/faults'), {
      method: 'POST',
      body: JSON.stringify({ kind: 'crash' }),
    });
    expect(await Promise.all(requests)).toEqual([500, 500, 500]);
    await fetch(stub.url('/stub/faults'), { method: 'DELETE' });
    expect((await complete(url)).status).toBe(200);
  });
});

it('[B258] publishes the KV events of each engine at an address of its own, with its rank', async () => {
  const { kvEvents } = publishing.pool();
  expect(new Set(kvEvents.map(({ endpoint }) => endpoint)).size).toBe(2);
  const subscriber = new Subscriber();
  subscriber.connect(kvEvents[1]?.endpoint ?? '');
  subscriber.subscribe('kv@127.0.0.1:');
  let sent = 0;
  // The first prompts may come before the subscription does; each stores blocks of its own.
  const answers: Promise<unknown>[] = [];
  const timer = setInterval(() => {
    const body = JSON.stringify({ model: 'm', prompt: `${sent++} `.repeat(99), max_tokens: 1 });
    const headers = { 'x-data-parallel-rank': '1' };
    answers.push(fetch(publishing.url('/v1/completions'), { method: 'POST', headers, body }));
  }, 20);
  try {
    const [, , payload] = await subscriber.receive();
    expect((decode(payload ?? new Uint8Array()) as unknown[])[2]).toBe(1);
  } finally {
    clearInterval(timer);
    await Promise.all(answers);
    subscriber.close();
  }
});
