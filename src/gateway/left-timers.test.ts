import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { CountedClock } from '../../test/support/counted-clock.ts';
import { type GatewayBed, startGatewayBed } from '../../test/support/grpc/gateway-bed.ts';
import type { ScriptedServer } from '../../test/support/sidecar/scripted-server.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';

let endpoint: GatewayBed['endpoint'];
let clock: CountedClock;
let gateway: GatewayBed['gateway'];
let bed: GatewayBed;

beforeEach(async () => {
  clock = new CountedClock(new SimulatedClock());
  bed = await startGatewayBed(clock);
  ({ endpoint, gateway } = bed);
});
afterEach(() => bed.stop());

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
