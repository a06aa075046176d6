import { describe, expect, it } from 'vitest';
import { ASKED_BODY, askPrefilled } from '../../../test/support/sidecar/prefilled-ask.ts';
import { sidecarBed } from '../../../test/support/sidecar/sidecar-bed.ts';
import { portOf } from '../../framework/values/server-address.ts';
import { listedServers } from '../options/allowed-servers.ts';
import type { Sidecar } from '../start-sidecar.ts';

/** KV that an engine takes from a storage or from a peer. */

const bed = sidecarBed();
const started = bed.started.bind(bed);
const ask = (sidecar: Sidecar, given?: Record<string, string>): Promise<Response> =>
  askPrefilled(sidecar, bed.prefiller, given);

describe('shared storage', () => {
  const body = '{"prompt":"p","cache_hit_threshold":0.8,"stream":false}';
  const finished = (reason: string): string => `{"choices":[{"finish_reason":"${reason}"}]}`;

  it('[B64] answers from the cache of the engine where enough is cached', async () => {
    const sidecar = await started({ connector: 'shared-storage' });
    const answer = ask(sidecar, { body });
    const decode = await bed.engine.next();
    expect(decode.body).toBe(body);
    decode.response.end(finished('stop'));
    expect(await (await answer).text()).toBe(finished('stop'));
    expect(bed.prefiller.visits).toBe(0);
  });

  it('[B64] has the prompt computed where too little is cached', async () => {
    const sidecar = await started({ connector: 'shared-storage' });
    const answer = ask(sidecar, { body });
    (await bed.engine.next()).response.end(finished('cache_threshold'));
    const prefill = await bed.prefiller.next();
    expect(JSON.parse(prefill.body)).toMatchObject({ cache_hit_threshold: 0, max_tokens: 1 });
    prefill.response.end('{}');
    const decode = await bed.engine.next();
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
    const { response } = await bed.engine.next();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const role = 'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n';
    response.write(role);
    response.write(event);
    if (prefills === 1) {
      (await bed.prefiller.next()).response.end('{}');
      (await bed.engine.next()).response.end('whole');
      expect(await (await answer).text()).toBe('whole');
      return;
    }
    const reader = (await answer).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe(role + event);
    response.end('data: [DONE]\n\n');
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: [DONE]\n\n');
    expect(bed.prefiller.visits).toBe(0);
  });
});

describe('cached blocks of a peer', () => {
  const source = { 'x-kv-cache-source-host-port': '127.0.0.1:4' };

  it('[B68] are taken by the engine where it has the prompt to compute', async () => {
    const sidecar = await started({ p2pPull: true });
    const answer = ask(sidecar, { ...source, 'x-prefiller-host-port': '' });
    const { body, response } = await bed.engine.next();
    expect(JSON.parse(body)).toMatchObject({
      kv_transfer_params: { remote_kv_source: { remote_host: '127.0.0.1', remote_port: 7777 } },
    });
    // What was to come from the peer is lost: once more without it.
    response.writeHead(500).end();
    const again = await bed.engine.next();
    expect(again.body).toBe(ASKED_BODY);
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
    const { body, response } = await bed.engine.next();
    expect(body).toBe(ASKED_BODY);
    response.end('{}');
    expect((await answer).status).toBe(200);
  });

  it.each([
    ['[fd00::1]:1', undefined],
    ['[fd00::1]:0', { remote_host: 'fd00::1', remote_port: 7777 }],
  ])('[D538] from %s are for rank 1 of fd00::1: %j', async (named, taken) => {
    const sidecar = await started({
      p2pPull: true,
      podIp: 'fd00::1',
      dataParallelSize: 2,
      engine: `127.0.0.1:${Number(portOf(bed.engine.address)) - 1}`,
      prefillers: () => true,
    });
    const answer = ask(
      { ...sidecar, address: sidecar.addresses[1] ?? '' },
      { 'x-kv-cache-source-host-port': named, 'x-prefiller-host-port': '' },
    );
    const { body, response } = await bed.engine.next();
    const { kv_transfer_params: sent } = JSON.parse(body) as { kv_transfer_params?: object };
    const wanted = taken && { remote_kv_source: { ...taken, kv_request_id: expect.any(String) } };
    expect(sent).toEqual(wanted);
    response.end('{}');
    await answer;
  });

  it.each(['nixlv2', 'offloading'] as const)(
    '[D538] are not asked of the server that computes the prompt with %s',
    async (connector) => {
      const sidecar = await started({ connector, p2pPull: true });
      const own = bed.prefiller.address;
      const answer = ask(sidecar, { 'x-kv-cache-source-host-port': own });
      const { body, response } = await bed.prefiller.next();
      expect(body).not.toContain('remote_kv_source');
      response.end('{"kv_transfer_params":{}}');
      (await bed.engine.next()).response.end('{}');
      await answer;
    },
  );
});
