import { describe, expect, it } from 'vitest';
import { ASKED_BODY, askPrefilled } from '../../../test/support/sidecar/prefilled-ask.ts';
import { startScriptedServer } from '../../../test/support/sidecar/scripted-server.ts';
import { sidecarBed } from '../../../test/support/sidecar/sidecar-bed.ts';
import { portOf } from '../../framework/values/server-address.ts';
import type { Sidecar } from '../start-sidecar.ts';

const bed = sidecarBed();
const { logged, stops } = bed;
const started = bed.started.bind(bed);
const ask = (sidecar: Sidecar, given?: Record<string, string>): Promise<Response> =>
  askPrefilled(sidecar, bed.prefiller, given);

describe('both legs at once', () => {
  it('[B62] answers with the decoding server’s bytes, once the prefill has succeeded', async () => {
    const sidecar = await started({ connector: 'sglang' });
    const answer = ask(sidecar);
    const [prefill, decode] = [await bed.prefiller.next(), await bed.engine.next()];
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
    const [prefill, decode] = [await bed.prefiller.next(), await bed.engine.next()];
    // Headers may come before the KV.
    decode.response.writeHead(200).flushHeaders();
    prefill.response.writeHead(500).end();
    await decode.closed;
    const here = await bed.engine.next();
    expect(here.body).toBe(ASKED_BODY);
    here.response.end('{"here":1}');
    expect(await (await answer).json()).toEqual({ here: 1 });
    expect(sidecar.counts.fellBack).toBe(1);
    expect(logged).toEqual([
      `prefill at ${bed.prefiller.address} failed, computing here: answered 500`,
    ]);
  });

  it('[B72] so does a decoding server that fails: the prefill ends', async () => {
    const sidecar = await started({ connector: 'sglang' });
    const answer = ask(sidecar);
    const [prefill, decode] = [await bed.prefiller.next(), await bed.engine.next()];
    decode.response.writeHead(500).end();
    await prefill.closed;
    const here = await bed.engine.next();
    expect(here.body).toBe(ASKED_BODY);
    here.response.end('{}');
    expect((await answer).status).toBe(200);
  });

  it('[V234] a decoding server that leaves ends the prefill, whose result would not be used', async () => {
    const sidecar = await started({ connector: 'sglang' });
    const answer = ask(sidecar);
    const [prefill, decode] = [await bed.prefiller.next(), await bed.engine.next()];
    decode.response.destroy();
    expect((await answer).status).toBe(502);
    await prefill.closed;
  });

  it('[V234] a decoding server that refuses the request ends the prefill, and its answer is passed on', async () => {
    const sidecar = await started({ connector: 'sglang' });
    const answer = ask(sidecar);
    const [prefill, decode] = [await bed.prefiller.next(), await bed.engine.next()];
    decode.response.writeHead(429).write('{"error"');
    const response = await answer;
    await prefill.closed;
    decode.response.end(':1}');
    expect([response.status, await response.text()]).toEqual([429, '{"error":1}']);
    expect(sidecar.counts.fellBack).toBe(0);
  });

  it('[B72] an answer that has begun goes on whatever becomes of the prefill', async () => {
    const sidecar = await started({ connector: 'sglang' });
    const answer = ask(sidecar);
    const [prefill, decode] = [await bed.prefiller.next(), await bed.engine.next()];
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
      headers: { 'x-prefiller-host-port': bed.prefiller.address },
      body: ASKED_BODY,
      signal: leaving.signal,
    });
    answer.catch(() => undefined);
    const [prefill, decode] = [await bed.prefiller.next(), await bed.engine.next()];
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
      mooncakeBootstrapPort: Number(portOf(bootstrap.address)),
    });
    for (const status of [200, 500, 200]) {
      const answer = ask(sidecar);
      if (status !== 500) {
        const query = await bootstrap.next();
        expect(query.path).toBe('/query');
        query.response.end('{"0":{"engine_id":"e"}}');
      }
      const [prefill, decode] = [await bed.prefiller.next(), await bed.engine.next()];
      expect(decode.body).toContain('"remote_engine_id":"e"');
      expect(prefill.headers['x-data-parallel-rank']).toBe('0');
      prefill.response.writeHead(status).end('{}');
      if (status === 200) decode.response.end('{}');
      else (await bed.engine.next()).response.end('{}');
      expect((await answer).status).toBe(200);
    }
    expect(bootstrap.visits).toBe(2);
  });

  it('[B63] a bootstrap server that does not answer leaves the prompt to the engine', async () => {
    const bootstrap = await startScriptedServer();
    stops.push(bootstrap.stop);
    const sidecar = await started({
      connector: 'mooncake',
      mooncakeBootstrapPort: Number(portOf(bootstrap.address)),
    });
    const answer = ask(sidecar);
    const query = await bootstrap.next();
    bed.clock.advanceTo(5_000);
    await query.closed;
    (await bed.engine.next()).response.end('{}');
    expect((await answer).status).toBe(200);
    expect(bed.prefiller.visits).toBe(0);
  });
});
