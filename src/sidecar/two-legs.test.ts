import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { startUpstream } from '../../test/support/servers/upstream.ts';
import {
  type ScriptedServer,
  startScriptedServer,
} from '../../test/support/sidecar/scripted-server.ts';
import { SidecarBed } from '../../test/support/sidecar/sidecar-bed.ts';
import type { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { listedServers } from './options/allowed-servers.ts';
import type { Sidecar } from './start-sidecar.ts';

/** The two requests that one of a client becomes, with each connector, between scripted servers. */

const ASKED = '{"model":"m","prompt":"a prompt","seed":12345678901234567890,"max_tokens":20}';
const KV = '{"do_remote_prefill":true,"remote_host":"10.0.0.9","remote_port":5600}';

let engine: ScriptedServer;
let prefiller: ScriptedServer;
let clock: SimulatedClock;
const bed = new SidecarBed();
const { logged, stops } = bed;
const started = bed.started.bind(bed);

beforeEach(async () => {
  ({ engine, prefiller, clock } = await bed.begin());
});
afterEach(() => bed.end());

function ask(
  sidecar: Sidecar,
  { body = ASKED, path = '/v1/completions', ...headers }: Record<string, string> = {},
): Promise<Response> {
  return fetch(`http://${sidecar.address}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-prefiller-host-port': prefiller.address,
      ...headers,
    },
    body,
  });
}

const portOf = (address: string): number => Number(address.split(':')[1]);
const KV_ANSWER = `{"kv_transfer_params":${KV}}`;

describe('one leg after the other', () => {
  it('[B60] the engine gets the client’s bytes, and the other server’s place of the KV', async () => {
    const sidecar = await started();
    const answer = ask(sidecar, { traceparent: '00-1-2-01', 'x-request-id': 'r1' });
    const prefill = await prefiller.next();
    expect(prefill.body).toContain('"seed":12345678901234567890');
    expect(prefill.headers).toMatchObject({ traceparent: '00-1-2-01', 'x-request-id': 'r1' });
    prefill.response.end(KV_ANSWER);
    const decode = await engine.next();
    expect(decode.body).toBe(`${ASKED.slice(0, -1)},"kv_transfer_params":${KV}}`);
    expect(decode.headers).toMatchObject({ traceparent: '00-1-2-01', 'x-request-id': 'r1' });
    decode.response.end('{}');
    expect((await answer).status).toBe(200);
  });

  it.each([
    '/v1/chat/completions',
    '/v1/completions',
    '/v1/responses',
    '/v1/messages',
    '/inference/v1/generate',
    '/generate',
  ])('[B61] serves %s so', async (path) => {
    const sidecar = await started();
    const answer = ask(sidecar, { path });
    const prefill = await prefiller.next();
    expect(prefill.path).toBe(path);
    prefill.response.end(KV_ANSWER);
    const decode = await engine.next();
    expect(decode.body).toContain(`"kv_transfer_params":${KV}`);
    decode.response.end('{}');
    expect((await answer).status).toBe(200);
    expect(sidecar.counts.prefilled).toBe(1);
  });

  it('[B71] newer names of the headers count before the older ones', async () => {
    const sidecar = await started();
    const answer = ask(sidecar, {
      'x-prefiller-host-port': '127.0.0.1:1',
      'x-llm-d-prefiller-host-port': `http://${prefiller.address}, 127.0.0.1:1`,
    });
    (await prefiller.next()).response.end(KV_ANSWER);
    const decode = await engine.next();
    expect(Object.keys(decode.headers).filter((name) => name.includes('host-port'))).toEqual([]);
    decode.response.end('{}');
    await answer;
  });

  it('[B70] draws one of several servers where the operator wants that', async () => {
    const others = [await startUpstream(), await startUpstream()];
    stops.push(...others.map(({ stop }) => stop));
    const named = others.map(({ address }) => address).join(',');
    const visits = (): readonly number[] => others.map(({ received }) => received.length);
    for (const samplePrefillers of [false, true]) {
      const sidecar = await started({ samplePrefillers });
      // By chance all 40 draws may be the same: once in 2 to the power of 39 runs.
      for (let count = 0; count < 40 && visits().includes(0); count++) {
        const answer = ask(sidecar, { 'x-prefiller-host-port': named });
        (await engine.next()).response.end('{}');
        await answer;
      }
      if (!samplePrefillers) expect(visits()).toEqual([40, 0]);
    }
    expect(visits()[1]).toBe(1);
  });

  it.each([502, 503, 504])('[B69] asks again after %d, and after its pause', async (status) => {
    const sidecar = await started({ prefillRetries: 1, prefillRetryBackoffMs: 200 });
    const answer = ask(sidecar);
    (await prefiller.next()).response.writeHead(status).end();
    await eventually(
      () => logged.length,
      (count) => count === 1,
    );
    expect(prefiller.visits).toBe(1);
    clock.advanceTo(200);
    (await prefiller.next()).response.end(KV_ANSWER);
    (await engine.next()).response.end('{}');
    expect((await answer).status).toBe(200);
    expect(sidecar.counts).toEqual({ prefilled: 1, encoded: 0, fellBack: 0 });
    expect(logged).toEqual([`prefill at ${prefiller.address} is tried again: answered ${status}`]);
  });

  it('[B69] leaves the prompt to the engine after the last try, and at once after another status', async () => {
    const sidecar = await started({ prefillRetries: 1, prefillRetryBackoffMs: 1 });
    const answer = ask(sidecar);
    (await prefiller.next()).response.socket?.resetAndDestroy();
    await eventually(
      () => logged.length,
      (count) => count === 1,
    );
    clock.advanceTo(1);
    (await prefiller.next()).response.writeHead(503).end();
    (await engine.next()).response.end('{}');
    expect((await answer).status).toBe(200);
    const other = ask(sidecar);
    (await prefiller.next()).response.writeHead(500).end();
    (await engine.next()).response.end('{}');
    expect((await other).status).toBe(200);
    expect([sidecar.counts.fellBack, prefiller.visits]).toEqual([2, 3]);
  });

  const usage = (cached: string): string =>
    `{ "id":"1", "usage":{"prompt_tokens":9.0,"prompt_tokens_details":${cached}} }`;
  it.each([
    ['{"cached_tokens":9}', '{"cached_tokens":3}', usage('{"cached_tokens":3}')],
    ['{"audio":1,"cached_tokens":9}', 'null', usage('{"audio":1,"cached_tokens":0}')],
    ['null', 'null', usage('null')],
    ['null', '{"cached_tokens":3}', usage('{"cached_tokens":3}')],
  ])(
    '[B67] cached tokens are those of the prefilling server: %s there, %s here',
    async (decoded, prefilled, expected) => {
      const sidecar = await started();
      const answer = ask(sidecar);
      (await prefiller.next()).response.end(
        `{"kv_transfer_params":${KV},"usage":{"prompt_tokens_details":${prefilled}}}`,
      );
      const { response } = await engine.next();
      const text = usage(decoded);
      // In two pieces, one of them within a number.
      response.write(text.slice(0, 40));
      response.end(text.slice(40));
      expect(await (await answer).text()).toBe(expected);
    },
  );

  it('[B67] also in a stream, whose other events pass as they are', async () => {
    const sidecar = await started();
    const answer = ask(sidecar);
    (await prefiller.next()).response.end(
      `{"kv_transfer_params":${KV},"usage":{"prompt_tokens_details":{"cached_tokens":3}}}`,
    );
    const { response } = await engine.next();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"a":1.0}\n\n: note\n\ndata: {"usage":{"prompt_tok');
    const reader = (await answer).body?.pipeThrough(new TextDecoderStream()).getReader();
    const first = await reader?.read();
    expect(first?.value).toContain('data: {"a":1.0}\n');
    response.end('ens_details":{"cached_tokens":9}}}\n\ndata: [DONE]\n\n');
    let rest = first?.value ?? '';
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      rest += next.value;
    }
    expect(rest).toBe(
      'data: {"a":1.0}\n\n: note\n\ndata: {"usage":{"prompt_tokens_details":{"cached_tokens":3}}}\n\ndata: [DONE]\n\n',
    );
  });
});

describe('both legs at once', () => {
  it('[B62] answers with the decoding server’s bytes, once the prefill has succeeded', async () => {
    const sidecar = await started({ connector: 'sglang' });
    const answer = ask(sidecar);
    const [prefill, decode] = [await prefiller.next(), await engine.next()];
    expect(prefill.body).toBe(decode.body);
    decode.response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    prefill.response.end('data: not JSON\n\n');
    decode.response.end('data: 1\n\n');
    expect(await (await answer).text()).toBe('data: 1\n\n');
    expect(sidecar.counts).toEqual({ prefilled: 1, encoded: 0, fellBack: 0 });
  });

  it('[B72] a prefill that fails ends the decode leg, and the engine computes the prompt', async () => {
    const sidecar = await started({ connector: 'sglang' });
    const answer = ask(sidecar);
    const [prefill, decode] = [await prefiller.next(), await engine.next()];
    // Headers may come before the KV.
    decode.response.writeHead(200).flushHeaders();
    prefill.response.writeHead(500).end();
    await decode.closed;
    const here = await engine.next();
    expect(here.body).toBe(ASKED);
    here.response.end('{"here":1}');
    expect(await (await answer).json()).toEqual({ here: 1 });
    expect(sidecar.counts.fellBack).toBe(1);
    expect(logged).toEqual([
      `prefill at ${prefiller.address} failed, computing here: answered 500`,
    ]);
  });

  it('[B72] so does a decoding server that fails: the prefill ends', async () => {
    const sidecar = await started({ connector: 'sglang' });
    const answer = ask(sidecar);
    const [prefill, decode] = [await prefiller.next(), await engine.next()];
    decode.response.writeHead(500).end();
    await prefill.closed;
    const here = await engine.next();
    expect(here.body).toBe(ASKED);
    here.response.end('{}');
    expect((await answer).status).toBe(200);
  });

  it('[V234] a decoding server that leaves takes the prefill along, which would compute for nobody', async () => {
    const sidecar = await started({ connector: 'sglang' });
    const answer = ask(sidecar);
    const [prefill, decode] = [await prefiller.next(), await engine.next()];
    decode.response.destroy();
    expect((await answer).status).toBe(502);
    await prefill.closed;
  });

  it('[V234] a decoding server that refuses the request ends the prefill, and its answer is passed on', async () => {
    const sidecar = await started({ connector: 'sglang' });
    const answer = ask(sidecar);
    const [prefill, decode] = [await prefiller.next(), await engine.next()];
    decode.response.writeHead(429).end('{"error":1}');
    expect((await answer).status).toBe(429);
    await prefill.closed;
    expect(sidecar.counts.fellBack).toBe(0);
  });

  it('[B72] an answer that has begun goes on whatever becomes of the prefill', async () => {
    const sidecar = await started({ connector: 'sglang' });
    const answer = ask(sidecar);
    const [prefill, decode] = [await prefiller.next(), await engine.next()];
    decode.response.write('1');
    const response = await answer;
    prefill.response.writeHead(500).end();
    decode.response.end('2');
    expect(await response.text()).toBe('12');
    expect(sidecar.counts.fellBack).toBe(0);
  });

  it('[B72] a client that leaves takes both with it', async () => {
    const sidecar = await started({ connector: 'sglang' });
    const leaving = new AbortController();
    const answer = fetch(`http://${sidecar.address}/v1/completions`, {
      method: 'POST',
      headers: { 'x-prefiller-host-port': prefiller.address },
      body: ASKED,
      signal: leaving.signal,
    });
    answer.catch(() => undefined);
    const [prefill, decode] = [await prefiller.next(), await engine.next()];
    leaving.abort();
    await Promise.all([prefill.closed, decode.closed]);
    await expect(answer).rejects.toThrow();
    expect(sidecar.counts.fellBack).toBe(0);
  });

  it('[B63] Mooncake’s engine is asked for at the bootstrap server, and again after a failure', async () => {
    const bootstrap = await startScriptedServer();
    stops.push(bootstrap.stop);
    const sidecar = await started({
      connector: 'mooncake',
      mooncakeBootstrapPort: portOf(bootstrap.address),
    });
    for (const status of [200, 500, 200]) {
      const answer = ask(sidecar);
      if (status !== 500) {
        const query = await bootstrap.next();
        expect(query.path).toBe('/query');
        query.response.end('{"0":{"engine_id":"e"}}');
      }
      const [prefill, decode] = [await prefiller.next(), await engine.next()];
      expect(decode.body).toContain('"remote_engine_id":"e"');
      expect(prefill.headers['x-data-parallel-rank']).toBe('0');
      prefill.response.writeHead(status).end('{}');
      if (status === 200) decode.response.end('{}');
      else (await engine.next()).response.end('{}');
      expect((await answer).status).toBe(200);
    }
    expect(bootstrap.visits).toBe(2);
  });

  it('[B63] a bootstrap server that does not answer leaves the prompt to the engine', async () => {
    const bootstrap = await startScriptedServer();
    stops.push(bootstrap.stop);
    const sidecar = await started({
      connector: 'mooncake',
      mooncakeBootstrapPort: portOf(bootstrap.address),
    });
    const answer = ask(sidecar);
    const query = await bootstrap.next();
    clock.advanceTo(5_000);
    await query.closed;
    (await engine.next()).response.end('{}');
    expect((await answer).status).toBe(200);
    expect(prefiller.visits).toBe(0);
  });
});

describe('shared storage', () => {
  const body = '{"prompt":"p","cache_hit_threshold":0.8,"stream":false}';
  const finished = (reason: string): string => `{"choices":[{"finish_reason":"${reason}"}]}`;

  it('[B64] answers from the cache of the engine where enough is cached', async () => {
    const sidecar = await started({ connector: 'shared-storage' });
    const answer = ask(sidecar, { body });
    const decode = await engine.next();
    expect(decode.body).toBe(body);
    decode.response.end(finished('stop'));
    expect(await (await answer).text()).toBe(finished('stop'));
    expect(prefiller.visits).toBe(0);
  });

  it('[B64] has the prompt computed where too little is cached', async () => {
    const sidecar = await started({ connector: 'shared-storage' });
    const answer = ask(sidecar, { body });
    (await engine.next()).response.end(finished('cache_threshold'));
    const prefill = await prefiller.next();
    expect(JSON.parse(prefill.body)).toMatchObject({ cache_hit_threshold: 0, max_tokens: 1 });
    prefill.response.end('{}');
    const decode = await engine.next();
    expect(decode.body).toBe(body.replace('0.8', '0'));
    decode.response.end(finished('stop'));
    expect(await (await answer).text()).toBe(finished('stop'));
  });

  it.each([
    ['goes on', 'data: {"choices":[{"text":"A","finish_reason":null}]}\n\n', 0],
    ['is refused', 'data: {"choices":[{"text":"","finish_reason":"cache_threshold"}]}\n\n', 1],
  ])('[B64] waits for the first event of a stream, which %s', async (_, event, prefills) => {
    const sidecar = await started({ connector: 'shared-storage' });
    const answer = ask(sidecar, { body: body.replace('false', 'true') });
    const { response } = await engine.next();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const role = 'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n';
    response.write(role);
    response.write(event);
    if (prefills === 1) {
      (await prefiller.next()).response.end('{}');
      (await engine.next()).response.end('whole');
      expect(await (await answer).text()).toBe('whole');
      return;
    }
    const reader = (await answer).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe(role + event);
    response.end('data: [DONE]\n\n');
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: [DONE]\n\n');
    expect(prefiller.visits).toBe(0);
  });
});

describe('cached blocks of a peer', () => {
  const source = { 'x-kv-cache-source-host-port': '127.0.0.1:4' };

  it('[B68] are taken by the engine where it has the prompt to compute', async () => {
    const sidecar = await started({ p2pPull: true });
    const answer = ask(sidecar, { ...source, 'x-prefiller-host-port': '' });
    const { body, response } = await engine.next();
    expect(JSON.parse(body)).toMatchObject({
      kv_transfer_params: { remote_kv_source: { remote_host: '127.0.0.1', remote_port: 7777 } },
    });
    // What was to come from the peer is lost: once more without it.
    response.writeHead(500).end();
    const again = await engine.next();
    expect(again.body).toBe(ASKED);
    again.response.end('{}');
    expect((await answer).status).toBe(200);
  });

  it.each([
    ['engines cannot', {}, source],
    [
      'the peer is this pod itself',
      { p2pPull: true, podIp: '127.0.0.1', port: 0 },
      { 'x-kv-cache-source-host-port': '127.0.0.1:0' },
    ],
    ['the peer is not allowed', { p2pPull: true, prefillers: listedServers(['10.0.0.1']) }, source],
  ])('[B68] are not where %s', async (_, options, headers) => {
    const sidecar = await started(options);
    const answer = ask(sidecar, { ...headers, 'x-prefiller-host-port': '' });
    const { body, response } = await engine.next();
    expect(body).toBe(ASKED);
    response.end('{}');
    expect((await answer).status).toBe(200);
  });
});

describe('data-parallel ranks', () => {
  it('[B73] have a port each, and a header can name the rank of another', async () => {
    const first = portOf(engine.address);
    const sidecar = await started({ dataParallelSize: 2 });
    expect(sidecar.addresses).toHaveLength(2);
    const [, second = ''] = sidecar.addresses;
    const refused = await fetch(`http://${second}/v1/models`);
    expect(await refused.text()).toContain(`127.0.0.1:${first + 1}`);
    const served = fetch(`http://${sidecar.address}/v1/models`);
    (await engine.next()).response.end('here');
    expect(await (await served).text()).toBe('here');
    const named = fetch(`http://${second}/v1/models`, {
      headers: { 'x-data-parallel-host-port': '10.0.0.1:0' },
    });
    (await engine.next()).response.end('named');
    expect(await (await named).text()).toBe('named');
  });
});

describe('metrics', () => {
  it('[B76] count stages by the reference’s names', async () => {
    const sidecar = await started();
    const answer = ask(sidecar);
    (await prefiller.next()).response.writeHead(500).end();
    (await engine.next()).response.end('{}');
    await (await answer).text();
    const page = await sidecar.registry.metrics();
    for (const line of [
      'llm_d_disagg_sidecar_requests_total{api_type="completions"} 1',
      'llm_d_disagg_sidecar_disagg_requests_total{connector="nixlv2"} 1',
      'llm_d_disagg_sidecar_request_errors_total{connector="nixlv2",stage="prefill"} 1',
    ]) {
      expect(page).toContain(line);
    }
    expect(page).not.toContain('prefill_duration_seconds_count');
  });
});
