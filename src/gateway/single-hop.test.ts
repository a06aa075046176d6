import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type GatewayBed, startGatewayBed } from '../../test/support/grpc/gateway-bed.ts';
import { type PickerInput, pickOf } from '../../test/support/grpc/scripted-picker.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';

/** What belongs to one connection goes no further, whichever side says so. */

let bed: GatewayBed;
let endpoint: GatewayBed['endpoint'];
let seen: PickerInput[];

beforeEach(async () => {
  bed = await startGatewayBed(new SimulatedClock());
  ({ endpoint } = bed);
  seen = [];
  bed.picker.script((input, stream) => {
    seen.push(input);
    pickOf(endpoint.address)(input, stream);
  });
});
afterEach(() => bed.stop());

/** The head of the answer, whose body is then read. */
async function ask(headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
  const { port } = bed.gateway;
  const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', headers, agent: false });
  request.end('{}');
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  return answer;
}

it('[V552] headers that the connection of a client names, or that are for a proxy, reach no endpoint', async () => {
  const answered = ask({
    connection: 'close, X-Secret ,x-other',
    'x-secret': '1',
    'X-Other': '2',
    'x-kept': '3',
    'proxy-authorization': 'Basic YTpi',
    'proxy-connection': 'keep-alive',
    'keep-alive': 'timeout=5',
    te: 'trailers',
  });
  const { headers, response } = await endpoint.next();
  response.end();
  (await answered).resume();
  expect(Object.keys(headers).toSorted()).toEqual([
    'connection',
    'content-length',
    'host',
    'x-gateway-destination-endpoint',
    'x-kept',
    'x-request-id',
  ]);
  expect(headers.connection).toBe('keep-alive');
});

it('[V552] headers that the connection of an endpoint names, or that are for a proxy, reach no client', async () => {
  const answered = ask({});
  const { response } = await endpoint.next();
  response.setHeader('connection', ['X-Inner, x-second', 'x-third']);
  for (const name of ['x-inner', 'x-second', 'x-third', 'x-kept']) response.setHeader(name, '1');
  response.setHeader('proxy-authenticate', 'Basic');
  response.setHeader('keep-alive', 'timeout=77');
  response.end();
  const { headers } = await answered;
  expect(Object.keys(headers).toSorted()).toEqual([
    'connection',
    'content-length',
    'date',
    'x-kept',
  ]);
});

it('[V552] trailers go on, repeated ones too, without what must be no trailer', async () => {
  const answered = ask({});
  const { response } = await endpoint.next();
  response.write('{}');
  response.addTrailers([
    ['x-sum', '1'],
    ['x-two', 'a'],
    ['x-two', 'b'],
    ['transfer-encoding', 'chunked'],
    ['connection', 'close'],
  ]);
  response.end();
  const answer = await answered;
  answer.resume();
  await once(answer, 'end');
  expect(answer.trailersDistinct).toEqual({ 'x-sum': ['1'], 'x-two': ['a', 'b'] });
  const pair = (key: string, value: string): object => ({ key, raw_value: Buffer.from(value) });
  const headers = [pair('x-sum', '1'), pair('x-two', 'a'), pair('x-two', 'b')];
  expect(seen.at(-1)).toMatchObject({ response_trailers: { trailers: { headers } } });
});
