import { describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { startUpstream } from '../../test/support/servers/upstream.ts';
import {
  ASKED_BODY,
  askPrefilled,
  KV,
  KV_ANSWER,
} from '../../test/support/sidecar/prefilled-ask.ts';
import { sidecarBed } from '../../test/support/sidecar/sidecar-bed.ts';
import { portOf } from '../framework/values/server-address.ts';
import type { Sidecar } from './start-sidecar.ts';

/** The two requests that one of a client becomes, with each connector, between scripted servers. */

const bed = sidecarBed();
const { logged, stops } = bed;
const started = bed.started.bind(bed);
const ask = (sidecar: Sidecar, given?: Record<string, string>): Promise<Response> =>
  askPrefilled(sidecar, bed.prefiller, given);

describe('one leg after the other', () => {
  it('[B60] the engine gets the client’s bytes, and the other server’s place of the KV', async () => {
    const sidecar = await started();
    const answer = ask(sidecar, { traceparent: '00-1-2-01', 'x-request-id': 'r1' });
    const prefill = await bed.prefiller.next();
    expect(prefill.body).toContain('"seed":12345678901234567890');
    expect(prefill.headers).toMatchObject({ traceparent: '00-1-2-01', 'x-request-id': 'r1' });
    prefill.response.end(KV_ANSWER);
    const decode = await bed.engine.next();
    expect(decode.body).toBe(`${ASKED_BODY.slice(0, -1)},"kv_transfer_params":${KV}}`);
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
    const prefill = await bed.prefiller.next();
    expect(prefill.path).toBe(path);
    prefill.response.end(KV_ANSWER);
    const decode = await bed.engine.next();
    expect(decode.body).toContain(`"kv_transfer_params":${KV}`);
    decode.response.end('{}');
    expect((await answer).status).toBe(200);
    expect(sidecar.counts.prefilled).toBe(1);
  });

  it.each([
    ['/v1/completions/', '/v1/completions'],
    ['//v1/responses', '/v1/responses'],
    ['/v1//chat/completions?a=%2F', '/v1/chat/completions?a=%2F'],
    ['/v1/./messages/', '/v1/messages'],
    ['/v1/files/../responses', '/v1/responses'],
    ['/inference/v1/generate%2F', '/inference/v1/generate'],
  ])('[D531] serves %s so, at %s', async (path, plain) => {
    const sidecar = await started();
    const answer = ask(sidecar, { path });
    const prefill = await bed.prefiller.next();
    prefill.response.end(KV_ANSWER);
    const decode = await bed.engine.next();
    expect([prefill.path, decode.path]).toEqual([plain, plain]);
    decode.response.end('{}');
    expect((await answer).status).toBe(200);
  });

  it.each(['/v1/chat/completions/render/', '/v1//models', '/proxy/v1/completions/'])(
    '[D531] leaves %s as it is',
    async (path) => {
      const sidecar = await started();
      const answer = ask(sidecar, { path });
      const visit = await bed.engine.next();
      expect([visit.path, bed.prefiller.visits]).toEqual([path, 0]);
      visit.response.end('{}');
      await answer;
    },
  );

  it('[B71] newer names of the headers count before the older ones', async () => {
    const sidecar = await started();
    const answer = ask(sidecar, {
      'x-prefiller-host-port': '127.0.0.1:1',
      'x-llm-d-prefiller-host-port': `http://${bed.prefiller.address}, 127.0.0.1:1`,
    });
    (await bed.prefiller.next()).response.end(KV_ANSWER);
    const decode = await bed.engine.next();
    expect(Object.keys(decode.headers).filter((name) => name.includes('host-port'))).toEqual([]);
    decode.response.end('{}');
    await answer;
  });

  it('[B70] draws one of several servers where the operator has set that', async () => {
    const others = [await startUpstream(), await startUpstream()];
    stops.push(...others.map(({ stop }) => stop));
    const named = others.map(({ address }) => address).join(',');
    const visits = (): readonly number[] => others.map(({ received }) => received.length);
    for (const samplePrefillers of [false, true]) {
      const sidecar = await started({ samplePrefillers });
      // By chance all 40 draws may be the same: once in 2 to the power of 39 runs.
      for (let count = 0; count < 40 && visits().includes(0); count++) {
        const answer = ask(sidecar, { 'x-prefiller-host-port': named });
        (await bed.engine.next()).response.end('{}');
        await answer;
      }
      if (!samplePrefillers) expect(visits()).toEqual([40, 0]);
    }
    expect(visits()[1]).toBe(1);
  });

  it.each([502, 503, 504])('[B69] asks again after %d, and after its pause', async (status) => {
    const sidecar = await started({ prefillRetries: 1, prefillRetryBackoffMs: 200 });
    const answer = ask(sidecar);
    (await bed.prefiller.next()).response.writeHead(status).end();
    await eventually(
      () => logged.length,
      (count) => count === 1,
    );
    expect(bed.prefiller.visits).toBe(1);
    bed.clock.advanceTo(200);
    (await bed.prefiller.next()).response.end(KV_ANSWER);
    (await bed.engine.next()).response.end('{}');
    expect((await answer).status).toBe(200);
    expect(sidecar.counts).toEqual({ prefilled: 1, encoded: 0, fellBack: 0 });
    expect(logged).toEqual([
      `prefill at ${bed.prefiller.address} is tried again: answered ${status}`,
    ]);
  });

  it('[B69] leaves the prompt to the engine after the last try, and at once after another status', async () => {
    const sidecar = await started({ prefillRetries: 1, prefillRetryBackoffMs: 1 });
    const answer = ask(sidecar);
    (await bed.prefiller.next()).response.socket?.resetAndDestroy();
    await eventually(
      () => logged.length,
      (count) => count === 1,
    );
    bed.clock.advanceTo(1);
    (await bed.prefiller.next()).response.writeHead(503).end();
    (await bed.engine.next()).response.end('{}');
    expect((await answer).status).toBe(200);
    const other = ask(sidecar);
    (await bed.prefiller.next()).response.writeHead(500).end();
    (await bed.engine.next()).response.end('{}');
    expect((await other).status).toBe(200);
    expect([sidecar.counts.fellBack, bed.prefiller.visits]).toEqual([2, 3]);
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
      (await bed.prefiller.next()).response.end(
        `{"kv_transfer_params":${KV},"usage":{"prompt_tokens_details":${prefilled}}}`,
      );
      const { response } = await bed.engine.next();
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
    (await bed.prefiller.next()).response.end(
      `{"kv_transfer_params":${KV},"usage":{"prompt_tokens_details":{"cached_tokens":3}}}`,
    );
    const { response } = await bed.engine.next();
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

describe('data-parallel ranks', () => {
  it('[B73] have a port each, and a header can name the rank of another', async () => {
    const first = Number(portOf(bed.engine.address));
    const sidecar = await started({ dataParallelSize: 2 });
    expect(sidecar.addresses).toHaveLength(2);
    const [, second = ''] = sidecar.addresses;
    const refused = await fetch(`http://${second}/v1/models`);
    expect(await refused.text()).toContain(`127.0.0.1:${first + 1}`);
    const served = fetch(`http://${sidecar.address}/v1/models`);
    (await bed.engine.next()).response.end('here');
    expect(await (await served).text()).toBe('here');
    const named = fetch(`http://${second}/v1/models`, {
      headers: { 'x-data-parallel-host-port': '10.0.0.1:0' },
    });
    (await bed.engine.next()).response.end('named');
    expect(await (await named).text()).toBe('named');
  });
});

describe('metrics', () => {
  it('[B76] count stages by the reference’s names', async () => {
    const sidecar = await started();
    const answer = ask(sidecar);
    (await bed.prefiller.next()).response.writeHead(500).end();
    (await bed.engine.next()).response.end('{}');
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
