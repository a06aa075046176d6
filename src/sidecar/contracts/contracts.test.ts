import { describe, expect, it } from 'vitest';
import { checkedObject } from '../../../test/support/sidecar/checked-object.ts';
import type { JsonObject } from '../../openai/json/json-object.ts';
import { apiOf, cappedToOneToken } from '../body/generation-api.ts';
import { atomContract } from './atom.ts';
import type { Asked, KvContract, Legs } from './kv-contract.ts';
import { mooncakeContract } from './mooncake.ts';
import { type MoriIoOptions, moriIoContract, rankOf } from './mori-io.ts';
import { nixlContract } from './nixl.ts';
import { offloadingContract } from './offloading.ts';
import { sglangContract } from './sglang.ts';
import { sharedStorageContract } from './shared-storage.ts';

const PORTS = { base: 7777, routed: { base: 8000, ranks: 2 } };
const PREFILLER = '10.0.0.7:8001';
const BODY =
  '{"model":"m","prompt":"p","seed":12345678901234567890,"max_tokens":40,"min_tokens":9}';
const UUID = expect.stringMatching(/^[\da-f-]{36}$/);

function asked(
  overrides: Partial<Omit<Asked, 'body'>> & { body?: string; path?: string } = {},
): Asked {
  const { body = BODY, path = '/v1/completions', ...rest } = overrides;
  const api = apiOf(path);
  if (api === undefined) throw new Error(path);
  const { signal } = new AbortController();
  return {
    body: checkedObject(body),
    api,
    prefiller: PREFILLER,
    kvSource: undefined,
    signal,
    ...rest,
  };
}

interface Shown {
  readonly prefill: Record<string, unknown>;
  readonly decode: Record<string, unknown>;
  readonly legs: Legs;
}

function paramsIn(answer: string): JsonObject | undefined {
  const params = checkedObject(answer).member('kv_transfer_params')?.toString();
  return params?.startsWith('{') === true ? checkedObject(params) : undefined;
}

async function legsOf(contract: KvContract, request: Asked, answer = '{}'): Promise<Shown> {
  const legs = await contract.legsOf(request);
  const read = ({ bytes }: JsonObject): Record<string, unknown> =>
    JSON.parse(bytes.toString()) as Record<string, unknown>;
  return {
    prefill: read(legs.prefill.body),
    decode: read(legs.decode(paramsIn(answer)).body),
    legs,
  };
}

describe('the leg that only computes a prompt', () => {
  it.each([
    ['/v1/completions', '{"max_tokens":9,"min_tokens":3}', { max_tokens: 1 }],
    [
      '/v1/chat/completions',
      '{"max_completion_tokens":9,"stream":true,"stream_options":{"include_usage":true}}',
      { max_completion_tokens: 1, max_tokens: 1 },
    ],
    ['/v1/responses', '{"max_output_tokens":9}', { max_output_tokens: 1, store: false }],
    ['/v1/messages', '{"max_tokens":9}', { max_tokens: 1 }],
    [
      '/inference/v1/generate',
      '{"sampling_params":{"max_tokens":9,"min_tokens":2,"seed":1}}',
      { sampling_params: { max_tokens: 1, seed: 1 } },
    ],
    ['/inference/v1/generate', '{"sampling_params":null}', { sampling_params: { max_tokens: 1 } }],
    ['/generate', '{"text":"p"}', { text: 'p', sampling_params: { max_new_tokens: 1 } }],
  ])('[B61] of %s has one token, in one piece: %s', (path, body, expected) => {
    const { api } = asked({ path });
    const capped = cappedToOneToken(checkedObject(body), api).bytes.toString();
    expect(JSON.parse(capped)).toEqual({ stream: false, ...expected });
  });
});

describe('NIXL', () => {
  const params =
    '{"remote_block_ids":[ 1, 2.0 ],"remote_port":5600,"x":12345678901234567890,"do_remote_prefill":true}';

  it('[B61] keeps the KV for another, and hands on what the server answers, to the byte', async () => {
    const contract = nixlContract(PORTS);
    const { prefill, legs } = await legsOf(contract, asked(), `{"kv_transfer_params":${params}}`);
    expect(prefill['kv_transfer_params']).toEqual({
      do_remote_decode: true,
      do_remote_prefill: false,
      remote_engine_id: null,
      remote_block_ids: null,
      remote_host: null,
      remote_port: null,
    });
    expect([prefill['max_tokens'], prefill['stream'], legs.atOnce]).toEqual([1, false, false]);
    const { body } = legs.decode(checkedObject(params));
    expect(body.bytes.toString()).toBe(`${BODY.slice(0, -1)},"kv_transfer_params":${params}}`);
  });

  it.each(['{}', '{"kv_transfer_params":null}', '{"kv_transfer_params":[]}'])(
    '[B61] fails where the answer %s does not say where the KV is',
    async (answer) => {
      const { decode } = await nixlContract(PORTS).legsOf(asked());
      expect(() => decode(paramsIn(answer))).toThrow('answered without kv_transfer_params');
    },
  );

  it('[B61] says it where the generate API reads it, too', async () => {
    const path = '/inference/v1/generate';
    const request = asked({ path, body: '{"token_ids":[1],"sampling_params":{"n":1}}' });
    const answer = '{"kv_transfer_params":{"remote_port":1}}';
    const { decode } = await legsOf(nixlContract(PORTS), request, answer);
    const kv_transfer_params = { remote_port: 1 };
    expect(decode).toEqual({
      token_ids: [1],
      kv_transfer_params,
      sampling_params: { n: 1, extra_args: { kv_transfer_params } },
    });
  });

  it('[B68] takes cached blocks from a peer, at the port of its rank', async () => {
    const request = asked({ kvSource: '10.0.0.8:8001' });
    const { prefill } = await legsOf(nixlContract(PORTS), request, '{"kv_transfer_params":{}}');
    expect(prefill['kv_transfer_params']).toMatchObject({
      do_remote_decode: true,
      remote_kv_source: { kv_request_id: UUID, remote_host: '10.0.0.8', remote_port: 7778 },
    });
  });
});

describe('other connectors', () => {
  it('[B182] ATOM: both compute at one rank, and the decoding server reads it by its own name', async () => {
    const answered = { dp_rank: 3, remote_host: 'h', first_token_id: 9, draft_token_ids: [1] };
    const answer = JSON.stringify({ kv_transfer_params: answered });
    const { prefill, decode, legs } = await legsOf(atomContract(8), asked(), answer);
    expect(legs.atOnce).toBe(false);
    expect(prefill).toMatchObject({
      max_tokens: 1,
      kv_transfer_params: { do_remote_decode: true, do_remote_prefill: false },
      data_parallel_rank: expect.toSatisfy((rank) => rank >= 0 && rank < 8),
    });
    expect(decode).toMatchObject({
      max_tokens: 40,
      data_parallel_rank: prefill['data_parallel_rank'],
    });
    expect(decode['kv_transfer_params']).toEqual({
      dp_rank: 3,
      remote_dp_rank: 3,
      remote_host: 'h',
    });
    const single = await legsOf(atomContract(1), asked(), answer);
    expect(single.prefill['data_parallel_rank']).toBe(0);
  });

  it('[B62] SGLang: both get the same at once, with the host, port and number of a room', async () => {
    const { prefill, decode, legs } = await legsOf(sglangContract(8998), asked());
    expect(prefill).toEqual(decode);
    expect(legs.atOnce).toBe(true);
    expect(prefill).toMatchObject({
      bootstrap_host: '10.0.0.7',
      bootstrap_port: 8998,
      max_tokens: 40,
    });
    expect(Number.isSafeInteger(prefill['bootstrap_room'])).toBe(true);
    const six = await legsOf(sglangContract(1), asked({ prefiller: '[fd00::7]:8000' }));
    expect(six.decode['bootstrap_host']).toBe('fd00::7');
    expect(six.decode['bootstrap_room']).not.toBe(decode['bootstrap_room']);
  });

  it('[B63] Mooncake: one id for both, and the engine that the bootstrap server names', async () => {
    const queried: string[] = [];
    const contract = mooncakeContract(8998, async (server) => {
      queried.push(server);
      return Buffer.from('{"1":{"engine_id":"e1"}}');
    });
    const { prefill, decode, legs } = await legsOf(contract, asked());
    const id = { transfer_id: expect.stringMatching(/^xfer-[\da-f-]{36}$/) };
    expect(prefill['kv_transfer_params']).toEqual({
      do_remote_prefill: false,
      do_remote_decode: true,
      ...id,
    });
    expect(decode['kv_transfer_params']).toEqual({
      do_remote_prefill: true,
      do_remote_decode: false,
      ...id,
      remote_bootstrap_addr: 'http://10.0.0.7:8998',
      remote_engine_id: 'e1',
    });
    expect([legs.atOnce, legs.prefill.headers]).toEqual([true, { 'x-data-parallel-rank': '1' }]);
    await legsOf(contract, asked());
    expect(queried).toEqual(['10.0.0.7:8998']);
    contract.forget?.(PREFILLER);
    await legsOf(contract, asked());
    expect(queried).toHaveLength(2);
  });

  it.each(['{}', '{"0":{}}', '[]', 'x', '{"0":{"engine_id":7}}'])(
    '[B63] Mooncake: fails where the bootstrap server answers %s',
    async (answer) => {
      const contract = mooncakeContract(8998, async () => Buffer.from(answer));
      await expect(contract.legsOf(asked())).rejects.toThrow('names no engine_id');
    },
  );

  it('[B64] shared storage: both legs may answer whatever is cached', async () => {
    const body = '{"prompt":"p","cache_hit_threshold":0.8,"max_tokens":40}';
    const { prefill, decode } = await legsOf(sharedStorageContract, asked({ body }));
    expect(prefill).toMatchObject({ cache_hit_threshold: 0, max_tokens: 1 });
    expect(decode).toEqual({ prompt: 'p', cache_hit_threshold: 0, max_tokens: 40 });
  });

  it('[B65] offloading: one stores under an id, the other takes it from the port of its rank', async () => {
    const { prefill, decode, legs } = await legsOf(offloadingContract(PORTS), asked());
    const { kv_transfer_params: stored } = prefill as {
      kv_transfer_params: { remote_decoder: { kv_request_id: string } };
    };
    const { kv_request_id } = stored.remote_decoder;
    expect(kv_request_id).toEqual(UUID);
    const remote_prefiller = { kv_request_id, remote_host: '10.0.0.7', remote_port: 7778 };
    expect(decode['kv_transfer_params']).toEqual({ remote_prefiller });
    expect([legs.atOnce, prefill['max_tokens'], decode['max_tokens']]).toEqual([false, 1, 40]);
  });
});

describe('MoRI-IO', () => {
  const options: MoriIoOptions = {
    localHost: () => '10.0.0.1',
    notifyPort: 61005,
    handshakePort: 6301,
    prefillNotifyPort: 61006,
    prefillHandshakePort: 6302,
    tensorParallelSize: 1,
    dataParallelSize: 8,
    dataParallelSizeLocal: 4,
    decodeHosts: () => ['10.0.0.1', '10.0.0.2'],
    prefillHosts: () => ['10.0.0.7', '10.0.0.8'],
    atOnce: false,
  };

  it('[B66] lets the prefilling server write into this one, on one rank for both', async () => {
    const answer = '{"kv_transfer_params":{"remote_host":"10.0.0.7","remote_dp_rank":6}}';
    const { prefill, decode, legs } = await legsOf(moriIoContract(options, PORTS), asked(), answer);
    const sent = prefill['kv_transfer_params'] as Record<string, unknown>;
    expect(sent).toMatchObject({
      do_remote_decode: true,
      remote_host: '10.0.0.1',
      remote_port: null,
      remote_notify_port: 61005,
      remote_handshake_port: 6301,
      remote_dp_rank_override: true,
      transfer_id: expect.stringMatching(/^tx[\da-f-]{36}$/),
      tp_size: 1,
      remote_dp_size: 8,
      remote_hosts: ['10.0.0.1', '10.0.0.2'],
      remote_dp_size_local: 4,
    });
    const rank = sent['remote_dp_rank'] as number;
    expect(legs.prefill.headers).toEqual({ 'x-data-parallel-rank': String(rank % 4) });
    expect(decode['kv_transfer_params']).toEqual({
      remote_host: '10.0.0.7',
      remote_dp_rank: 6,
      remote_dp_rank_override: true,
      transfer_id: sent['transfer_id'],
      remote_dp_size: 8,
      remote_notify_port: 61005,
      remote_handshake_port: 6301,
      remote_hosts: ['10.0.0.7', '10.0.0.8'],
      remote_dp_size_local: 4,
    });
    expect(legs.decode(paramsIn(answer)).headers).toEqual({ 'x-data-parallel-rank': '2' });
  });

  it('[B66] says at once where the prefilling server is where both legs go at once', async () => {
    const contract = moriIoContract({ ...options, dataParallelSize: 1, atOnce: true }, PORTS);
    const { prefill, decode, legs } = await legsOf(contract, asked());
    const { transfer_id } = prefill['kv_transfer_params'] as Record<string, unknown>;
    expect(decode['kv_transfer_params']).toMatchObject({
      do_remote_prefill: true,
      do_remote_decode: false,
      remote_engine_id: '10.0.0.7:6302',
      remote_block_ids: [],
      remote_host: '10.0.0.7',
      remote_port: 6302,
      remote_notify_port: 61006,
      transfer_id,
    });
    expect([legs.atOnce, legs.prefill.headers]).toEqual([true, {}]);
  });

  it('[B66] draws the rank from the id as other proxies do', () => {
    // Computed with Python: int.from_bytes(hashlib.blake2s(id).digest()[:8], 'big') % ranks.
    expect(rankOf('request-1', 8)).toBe(6);
    expect(rankOf('request-1', 1)).toBe(0);
  });
});
