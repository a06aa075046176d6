import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { CountedClock } from '../../test/support/counted-clock.ts';
import {
  type ScriptedPicker,
  startScriptedPicker,
} from '../../test/support/grpc/scripted-picker.ts';
import {
  type ScriptedServer,
  startScriptedServer,
} from '../../test/support/sidecar/scripted-server.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { type Gateway, startGateway } from './start-gateway.ts';

let endpoint: ScriptedServer;
let picker: ScriptedPicker;
let clock: CountedClock;
let gateway: Gateway;

beforeEach(async () => {
  endpoint = await startScriptedServer();
  picker = await startScriptedPicker(endpoint.address);
  clock = new CountedClock(new SimulatedClock());
  gateway = await startGateway({
    host: '127.0.0.1',
    port: 0,
    extProcAddress: picker.address,
    extProcTls: false,
    clock,
    log: () => undefined,
  });
});
afterEach(async () => {
  await gateway.stop();
  picker.stop();
  await endpoint.stop();
});

const ask = (signal?: AbortSignal): Promise<Response> =>
  fetch(`http://127.0.0.1:${gateway.port}/v1/completions`, {
    method: 'POST',
    body: '{"model":"m"}',
    ...(signal !== undefined && { signal }),
  });

/** A request whose answer has begun, until it is over. */
type Way = (leave: () => void, visit: Awaited<ReturnType<ScriptedServer['next']>>) => void;

it.each<[string, Way]>([
  ['is whole', (_leave, { response }) => response.end('2')],
  ['is left by its client', (leave) => leave()],
  ['is broken off by its server', (_leave, { response }) => response.destroy()],
])('a request has no timers behind its end, where its answer %s', async (_, end) => {
  const before = clock.openTimers;
  for (let request = 0; request < 3; request++) {
    const leaving = new AbortController();
    const asked = ask(leaving.signal);
    const visit = await endpoint.next();
    visit.response.write('1');
    const text = (await asked).text().catch(() => 'cut');
    expect(clock.openTimers).toBeGreaterThan(before);
    end(() => leaving.abort(), visit);
    await text;
  }
  await eventually(
    () => clock.openTimers,
    (timers) => timers <= before,
  );
});
