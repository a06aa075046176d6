import { expect, it } from 'vitest';
import { startScriptedServer } from '../../test/support/sidecar/scripted-server.ts';
import { openRequests } from '../../test/support/sidecar/sidecar-client.ts';
import { sidecarOptions } from '../../test/support/sidecar/sidecar-options.ts';
import { HttpStorm, STREAMED } from '../../test/support/storms/http-storm.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { SIDECAR_BOUNDS } from './options/sidecar-options.ts';
import { startSidecar } from './start-sidecar.ts';

const BOUNDS = {
  ...SIDECAR_BOUNDS,
  uploadTimeoutMs: 400,
  clientIdleTimeoutMs: 150,
  connectTimeoutMs: 100,
  prefillTimeoutMs: 200,
  firstByteTimeoutMs: 300,
  idleTimeoutMs: 150,
};
const BODY = JSON.stringify({ model: 'm', prompt: 'x'.repeat(4000), max_tokens: 20, stream: true });
const KV = '{"do_remote_prefill":true,"remote_host":"10.0.0.9","remote_port":5600}';
const PREFILLED: readonly [string, readonly string[]] = [
  'application/json',
  [`{"kv_transfer_params":${KV},`, '"choices":[]}'],
];

it.each([
  [1, 'nixlv2'],
  [2, 'nixlv2'],
  [3, 'sglang'],
  [4, 'sglang'],
  [5, 'shared-storage'],
  [6, 'atom'],
  [7, 'offloading'],
] as const)(
  '[V586] each request through the sidecar ends by its limits, and leaves no timer, in unsteady time, also while it drains (seed %i, %s)',
  { timeout: 10 * 60_000 },
  async (seed, connector) => {
    const storm = new HttpStorm(seededRandom(seed));
    const { clock, random, outcomes } = storm;
    const [engine, prefiller, dead] = [
      await startScriptedServer(),
      await startScriptedServer(),
      await startScriptedServer(),
    ];
    await dead.stop();
    const serve = async (server: typeof engine, answer: typeof STREAMED): Promise<void> => {
      for (;;) void storm.answer(await server.next(), answer);
    };
    void serve(engine, STREAMED);
    void serve(prefiller, PREFILLED);
    const options = { engine: engine.address, connector, clock, bounds: BOUNDS };
    const sidecar = await startSidecar(sidecarOptions(options));
    const port = Number(sidecar.address.split(':')[1]);
    const sent = () => {
      const where = clock.isCalm ? 0 : random.next();
      const server = where < 0.8 ? prefiller.address : dead.address;
      const headers: Record<string, string> =
        where < 0.9 ? { 'x-prefiller-host-port': server } : {};
      return { path: '/v1/completions', body: BODY, headers };
    };
    await storm.run(port, sent);
    const left = await storm.calm(() => openRequests(sidecar));
    const after = await storm.ask(port, sent());
    clock.isCalm = false;
    const last = Array.from({ length: 12 }, () => storm.ask(port, sent()));
    await sidecar.drain({ drainNoticeMs: 20, drainTimeoutMs: 2000 });
    await Promise.all(last);
    const afterDrain = await storm.calm(() => openRequests(sidecar));
    clock.end();
    await Promise.all([engine.stop(), prefiller.stop()]);
    const hung = outcomes.get('hung') ?? 0;
    expect([hung, left, after, afterDrain]).toEqual([0, 'nothing', '200', 'nothing']);
    expect(Math.min(sidecar.counts.prefilled, sidecar.counts.fellBack)).toBeGreaterThan(20);
    expect([...outcomes.keys()]).toEqual(expect.arrayContaining(['200', 'broken off']));
  },
);
