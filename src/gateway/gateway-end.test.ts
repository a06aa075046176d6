import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { type GatewayBed, startGatewayBed } from '../../test/support/grpc/gateway-bed.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';

let endpoint: GatewayBed['endpoint'];
let clock: SimulatedClock;
let gateway: GatewayBed['gateway'];
let bed: GatewayBed;

beforeEach(async () => {
  clock = new SimulatedClock();
  bed = await startGatewayBed(clock);
  ({ endpoint, gateway } = bed);
});
afterEach(() => bed.stop());

const url = (): string => `http://127.0.0.1:${gateway.port}/v1/completions`;
const post = (): Promise<Response> => fetch(url(), { method: 'POST', body: '{"model":"m"}' });

it('[V69] a gateway that ends lets its requests end for a time', async () => {
  const [short, long] = [post(), post()];
  const visits = [await endpoint.next(), await endpoint.next()];
  for (const { response } of visits) response.write('1');
  const texts = [await short, await long].map((answer) => answer.text().catch(() => 'cut'));
  const ended = gateway.drain({ drainNoticeMs: 0, drainTimeoutMs: 10_000 });
  clock.advanceTo(0);
  visits[0]?.response.end('2');
  expect(await Promise.race(texts)).toBe('12');
  let isOver = false;
  void ended.then(() => (isOver = true));
  await eventually(
    () => {
      clock.advanceTo(clock.now() + 10_000);
      return isOver;
    },
    (is) => is,
  );
  expect((await Promise.all(texts)).toSorted()).toEqual(['12', 'cut']);
  await visits[1]?.closed;
});

it('[V541] a gateway that ends serves on for a moment, has clients close their connections, and then closes its port', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = async (): Promise<IncomingMessage> => {
    const asking = httpRequest(url(), { method: 'POST', agent }).end('{"model":"m"}');
    void endpoint.next().then(({ response }) => response.end('{}'));
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    await once(answer.resume(), 'end');
    return answer;
  };
  expect((await ask()).headers.connection).toBe('keep-alive');
  const ended = gateway.drain({ drainNoticeMs: 1000, drainTimeoutMs: 10_000 });
  for (let request = 0; request < 2; request++) {
    const { statusCode, headers } = await ask();
    expect([statusCode, headers.connection]).toEqual([200, 'close']);
  }
  clock.advanceTo(1000);
  await ended;
  await expect(ask()).rejects.toThrow('ECONNREFUSED');
});
