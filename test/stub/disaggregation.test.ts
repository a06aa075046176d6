import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPoolFile } from '../../stub-server/options/stub-pool-file.ts';
import { type StubPool, startMixedPool } from '../../stub-server/pool.ts';

/** Links so slow that legs overlap: 480 prompt tokens take 480 model milliseconds, 48 of ours. */
const POOL = `
port: 0
speed: 10
model: m
kvLink: { gigabytesPerSecond: 0.1, bytesPerToken: 100000 }
servers:
  - { count: 1, role: prefill }
  - { count: 1, role: decode }
  - { count: 2, sharedStorage: true }
  - { count: 1, role: prefill, bidirectionalKv: true }
  - { count: 1, role: decode, bidirectionalKv: true }
`;
const PREFILL = 0;
const DECODE = 1;
const STORING = 2;
const TAKING = 4;
const HOLDING = 5;

interface Answer {
  readonly status: number;
  readonly body: {
    readonly kv_transfer_params: object | null;
    readonly choices: readonly { readonly finish_reason: string; readonly text: string }[];
    readonly usage: {
      readonly prompt_tokens: number;
      readonly completion_tokens: number;
      readonly prompt_tokens_details: { readonly cached_tokens: number } | null;
    };
  };
}

describe('disaggregated requests', () => {
  let pool: StubPool | undefined;
  let elsewhere: StubPool | undefined;
  beforeAll(async () => {
    pool = await startMixedPool(readPoolFile(POOL, 'pool.yaml'));
    // As another process would be: nothing is shared but the network.
    elsewhere = await startMixedPool(readPoolFile(POOL, 'pool.yaml'));
  });
  afterAll(async () => {
    await pool?.stop();
    await elsewhere?.stop();
  });

  const endpointOf = (server: number, of = pool): { address: string; held: () => number } => {
    const endpoint = of?.endpoints[server];
    return {
      address: endpoint?.address ?? '',
      held: () => endpoint?.engine.kv.pool.held ?? Number.NaN,
    };
  };
  const ask = async (server: number, fields: object, of = pool): Promise<Answer> => {
    const response = await fetch(`http://${endpointOf(server, of).address}/v1/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'm', max_tokens: 3, ignore_eos: true, ...fields }),
    });
    const body = (await response.json()) as Answer['body'];
    return { status: response.status, body };
  };
  let prompts = 0;
  const newPrompt = (): string => {
    prompts += 1;
    return `${prompts} `.padEnd(4 * 480, 'far ');
  };
  /** All but what must be computed in any case came from the other leg. */
  const expectPulled = ({ status, body }: Answer): void => {
    expect(status).toBe(200);
    expect(body.usage.prompt_tokens_details?.cached_tokens).toBe(479);
    expect(endpointOf(PREFILL).held()).toBe(0);
    expect(endpointOf(DECODE).held()).toBe(0);
  };

  it('mooncake: both legs at once, by transfer id', async () => {
    const prompt = newPrompt();
    const { address } = endpointOf(PREFILL);
    const query = await (await fetch(`http://${address}/query`)).json();
    const engineId = (query as Record<string, { engine_id: string }>)['0']?.engine_id;
    const [decode, prefill] = await Promise.all([
      ask(DECODE, {
        prompt,
        kv_transfer_params: {
          do_remote_prefill: true,
          transfer_id: 'xfer-1',
          remote_bootstrap_addr: `http://${address}`,
          remote_engine_id: engineId,
        },
      }),
      ask(PREFILL, {
        prompt,
        max_tokens: 1,
        kv_transfer_params: { do_remote_decode: true, transfer_id: 'xfer-1' },
      }),
    ]);
    expect(prefill.status).toBe(200);
    expectPulled(decode);
  });

  it('sglang: both legs at once, by room; the prefill side generates one token of an answer that is discarded', async () => {
    const prompt = newPrompt();
    const room = { bootstrap_host: '127.0.0.1', bootstrap_port: 8998 };
    const fields = { prompt, ...room, bootstrap_room: 4_611_686_018_427_387_904 };
    const [decode, prefill] = await Promise.all([ask(DECODE, fields), ask(PREFILL, fields)]);
    expect(prefill.body.usage.completion_tokens).toBe(1);
    expect(decode.body.usage.completion_tokens).toBe(3);
    expectPulled(decode);
    expect((await ask(STORING, fields)).status).toBe(400);
  });

  it('between peers: both legs at once, by request id', async () => {
    const prompt = newPrompt();
    const [remote_host, port] = endpointOf(PREFILL).address.split(':');
    const id = { kv_request_id: 'r-1' };
    const [decode] = await Promise.all([
      ask(DECODE, {
        prompt,
        kv_transfer_params: {
          remote_prefiller: { ...id, remote_host, remote_port: Number(port) },
        },
      }),
      ask(PREFILL, { prompt, max_tokens: 1, kv_transfer_params: { remote_decoder: id } }),
    ]);
    expectPulled(decode);
  });

  it('nixl: one leg after the other, in two processes, with all answers’ blocks held', async () => {
    const prompt = newPrompt();
    const prefill = await ask(PREFILL, {
      prompt,
      n: 2,
      max_tokens: 1,
      kv_transfer_params: { do_remote_decode: true },
    });
    expect(endpointOf(PREFILL).held()).toBeGreaterThanOrEqual(30);
    const fields = { prompt, kv_transfer_params: prefill.body.kv_transfer_params };
    expectPulled(await ask(DECODE, fields, elsewhere));
    // It is there once.
    expect((await ask(DECODE, fields, elsewhere)).status).toBe(500);
  });

  it('fails the decode leg when the prefill server has crashed since, or is gone', async () => {
    const prompt = newPrompt();
    const prefill = (): Promise<Answer> =>
      ask(PREFILL, { prompt, max_tokens: 1, kv_transfer_params: { do_remote_decode: true } });
    const fault = (method: string): Promise<Response> =>
      fetch(`http://${endpointOf(PREFILL).address}/stub/faults`, {
        method,
        ...(method === 'POST' && { body: '{"kind":"crash"}' }),
      });
    const { kv_transfer_params } = (await prefill()).body;
    await fault('POST');
    expect((await ask(DECODE, { prompt, kv_transfer_params })).status).toBe(500);
    await fault('DELETE');
    expect((await ask(DECODE, { prompt, kv_transfer_params })).status).toBe(500);
    const gone = { ...kv_transfer_params, remote_port: 1 };
    expect((await ask(DECODE, { prompt, kv_transfer_params: gone })).status).toBe(500);
    expect((await ask(DECODE, { prompt, ...(await prefill()).body })).status).toBe(200);
  });

  it('shared storage: says nothing below the threshold, and reads what another server has computed', async () => {
    const prompt = newPrompt();
    const fields = { prompt, cache_hit_threshold: 0.8 };
    const refused = await ask(STORING, fields);
    expect(refused.body.choices).toMatchObject([{ finish_reason: 'cache_threshold', text: '' }]);
    expect(refused.body.usage).toMatchObject({ prompt_tokens: 480, completion_tokens: 0 });
    expect((await ask(STORING + 1, { prompt, max_tokens: 1 })).status).toBe(200);
    const { body } = await ask(STORING, fields);
    expect(body.choices[0]?.finish_reason).toBe('length');
    expect(body.usage.prompt_tokens_details?.cached_tokens).toBe(479);
  });

  it('[B210] the engine holds the KV of its answer, which the next turn’s prefill takes', async () => {
    const usageOf = ({ body }: Answer): number =>
      body.usage.prompt_tokens_details?.cached_tokens ?? 0;
    const compute = (fields: object, of = pool): Promise<Answer> =>
      ask(TAKING, { max_tokens: 1, ...fields }, of);
    const asking = { do_remote_decode: true, do_remote_prefill: false };
    /** A prompt and its answer, and what the decoding engine says of its KV. */
    const answered = async (): Promise<{ said: string; params: object }> => {
      const prompt = newPrompt();
      const first = await compute({ prompt, kv_transfer_params: asking });
      const params = first.body.kv_transfer_params;
      const decode = await ask(HOLDING, { prompt, max_tokens: 60, kv_transfer_params: params });
      expect(endpointOf(HOLDING).held()).toBeGreaterThanOrEqual(33);
      const said = `${prompt}${decode.body.choices[0]?.text ?? ''}`;
      return { said, params: decode.body.kv_transfer_params ?? {} };
    };
    const { said, params } = await answered();
    expect(params).toMatchObject({ do_remote_decode: true, remote_num_tokens: 539 });
    const next = { prompt: `${said} and then?`, kv_transfer_params: { ...params, ...asking } };
    // The server has cached the 480 tokens of the first turn: less than 64 more are computed.
    expect(usageOf(await compute(next))).toBe(480);
    expect(endpointOf(HOLDING).held()).toBeGreaterThan(0);
    // Another one, in another process, has none of it.
    expect(usageOf(await compute(next, elsewhere))).toBe(539);
    expect(endpointOf(HOLDING).held()).toBe(0);
    // In its own process a server knows that the KV has gone.
    const gone = await answered();
    await fetch(`http://${endpointOf(HOLDING).address}/stub/faults`, {
      method: 'POST',
      body: '{"kind":"crash"}',
    });
    const after = { prompt: `${gone.said} so?`, kv_transfer_params: { ...gone.params, ...asking } };
    expect(await compute(after)).toMatchObject({ status: 200 });
  });

  it('says so in a stream, too', async () => {
    const response = await fetch(`http://${endpointOf(STORING).address}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({
        model: 'm',
        messages: [{ role: 'user', content: newPrompt() }],
        stream: true,
        cache_hit_threshold: 1,
      }),
    });
    const text = await response.text();
    expect(text).toContain('"finish_reason":"cache_threshold"');
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
  });
});
