import { afterEach, beforeEach, expect, it } from 'vitest';
import { type GatewayBed, startGatewayBed } from '../../test/support/grpc/gateway-bed.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { whyOverloaded } from './overload.ts';

const now = { busy: 0, delayMs: 0 };
const strain = { busyShare: () => now.busy, answerDelayMs: () => now.delayMs };
let bed: GatewayBed;
let endpoint: GatewayBed['endpoint'];

beforeEach(async () => {
  now.busy = 0;
  now.delayMs = 0;
  bed = await startGatewayBed(new SimulatedClock(), {}, strain);
  ({ endpoint } = bed);
});
afterEach(() => bed.stop());

const post = (): Promise<Response> => {
  const url = `http://127.0.0.1:${bed.gateway.port}/v1/completions`;
  return fetch(url, { method: 'POST', body: '{"model":"m"}' });
};

it('[V540] a gateway with more to do than its CPU allows refuses what is new at once, and ends what is open', async () => {
  const open = post();
  const { response } = await endpoint.next();
  now.busy = 1;
  now.delayMs = 3100;
  const refused = await post();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.text()).toContain('more to do than its CPU allows');
  expect(endpoint.visits).toBe(1);
  response.end('{}');
  expect((await open).status).toBe(200);
});

it('[V540] it serves again as soon as it rests', async () => {
  now.busy = 1;
  now.delayMs = 3100;
  expect((await post()).status).toBe(503);
  now.busy = 0.9;
  const served = post();
  (await endpoint.next()).response.end('{}');
  expect((await served).status).toBe(200);
});

it.each([
  ['busy, but answers within three seconds', 1, 2900],
  ['late once, but not busy', 0.5, 30_000],
])('[V540] a gateway that is %s refuses nothing', (_, busy, delayMs) => {
  now.busy = busy;
  now.delayMs = delayMs;
  expect(whyOverloaded(strain)).toBeUndefined();
});

it('[V540] no connection asks how late answers are while the gateway rests', () => {
  const answerDelayMs = (): number => {
    throw new Error('was asked');
  };
  expect(whyOverloaded({ busyShare: () => 0.9, answerDelayMs })).toBeUndefined();
});
