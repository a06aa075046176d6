import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type PickerInput,
  pickOf,
  type ScriptedPicker,
  startScriptedPicker,
} from '../../test/support/grpc/scripted-picker.ts';
import { gatewayBefore } from '../../test/support/servers/gateway-before.ts';
import {
  type ScriptedServer,
  startScriptedServer,
} from '../../test/support/sidecar/scripted-server.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { GATEWAY_BOUNDS, type GatewayBounds } from './gateway-bounds.ts';
import type { Gateway } from './start-gateway.ts';

/** Nothing listens there. */
const CLOSED = '127.0.0.1:9';
const BODY = JSON.stringify({ model: 'm', prompt: 'x'.repeat(100_000) });

let first: ScriptedServer;
let second: ScriptedServer;
let picker: ScriptedPicker;
let clock: SimulatedClock;
let gateway: Gateway;
let lines: string[];
let heads: PickerInput[];

beforeEach(async () => {
  first = await startScriptedServer();
  second = await startScriptedServer();
  picker = await startScriptedPicker(first.address);
  clock = new SimulatedClock();
  [lines, heads] = [[], []];
});
afterEach(async () => {
  await gateway.stop();
  picker.stop();
  await first.stop();
  await second.stop();
});

async function start(destinations: string, bounds: Partial<GatewayBounds> = {}): Promise<void> {
  const pick = pickOf(destinations);
  picker.script((input, stream) => {
    if (input.response_headers !== undefined) heads.push(input);
    pick(input, stream);
  });
  const log = (line: string): void => void lines.push(line);
  gateway = await gatewayBefore(picker.port, { bounds, clock, log });
}

const post = (body = BODY): Promise<Response> =>
  fetch(`http://127.0.0.1:${gateway.port}/v1/completions`, { method: 'POST', body });
/** What the picker is told of who served. */
const told = (): readonly string[] => heads.map((head) => JSON.stringify(head.metadata_context));
const served = (address: string): readonly string[] => [
  `{"filter_metadata":{"envoy.lb":{"fields":{"x-gateway-destination-endpoint-served":{"stringValue":"${address}"}}}}}`,
];

describe('a request whose endpoint fails before its answer', () => {
  it.each([
    ['cannot be reached', undefined],
    ['breaks off', (at: ScriptedServer) => at.next().then(({ response }) => response.destroy())],
    [
      'answers 503',
      (at: ScriptedServer) =>
        at.next().then(({ response }) => response.writeHead(503).end('{"busy":true}')),
    ],
    [
      'is a sidecar that answers 502',
      (at: ScriptedServer) => at.next().then(({ response }) => response.writeHead(502).end('{}')),
    ],
  ])('[Q290] [V517] goes whole to the next one, where it %s', async (_, fail) => {
    const failing = fail === undefined ? CLOSED : first.address;
    await start(`${failing},${second.address}`);
    const answer = post();
    if (fail !== undefined) await fail(first);
    const { body, response } = await second.next();
    expect(body).toBe(BODY);
    response.end('once');
    expect([(await answer).status, await (await answer).text()]).toEqual([200, 'once']);
    expect([first.visits, second.visits]).toEqual([fail === undefined ? 0 : 1, 1]);
    expect(told()).toEqual(served(second.address));
    expect(lines.at(-1)).toContain(`a request goes to ${second.address}`);
  });

  it('[Q290] gets the failure of the last one, of which the picker learns', async () => {
    await start(`${CLOSED}, ${CLOSED}, ${first.address}`);
    const answer = post();
    (await first.next()).response.writeHead(503).end('full');
    expect([(await answer).status, await (await answer).text()]).toEqual([503, 'full']);
    expect(told()).toEqual(served(first.address));
  });

  it('[Q290] fails where no other one is named, and where its body was too long to keep', async () => {
    await start(first.address);
    const alone = post();
    (await first.next()).response.destroy();
    expect((await alone).status).toBe(503);
    await gateway.stop();

    await start(`${first.address},${second.address}`, { retryBodyBytes: BODY.length - 1 });
    const long = post();
    (await first.next()).response.destroy();
    expect((await long).status).toBe(503);
    expect(second.visits).toBe(0);
  });
});

it('[Q290] an answer that has begun, and an endpoint that had all the time there was, are not tried elsewhere', async () => {
  await start(`${first.address},${second.address}`, { pickerTimeoutMs: 0, idleTimeoutMs: 0 });
  const begun = post();
  const { response } = await first.next();
  response.write('1');
  const reader = (await begun).body?.getReader();
  await reader?.read();
  response.destroy();
  await expect(reader?.read()).rejects.toThrow();

  const late = post();
  await first.next();
  clock.advanceTo(clock.now() + GATEWAY_BOUNDS.firstByteTimeoutMs);
  expect((await late).status).toBe(504);
  expect(second.visits).toBe(0);
});

it.each([
  ['sends 100 (Continue)', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['changed the protocol (101)', 'HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
])(
  '[V560] an endpoint that %s unasked has answered: the client gets 502, and no other endpoint the request',
  async (what, bytes) => {
    await start(`${first.address},${second.address}`);
    const answer = post();
    (await first.next()).response.socket?.write(bytes);
    expect((await answer).status).toBe(502);
    expect(await (await answer).text()).toContain(what.replace('sends', 'sent'));
    expect(second.visits).toBe(0);
  },
);

it('[Q290] a client that leaves is not served elsewhere', async () => {
  await start(`${first.address},${second.address}`);
  const leaving = new AbortController();
  const { signal } = leaving;
  const url = `http://127.0.0.1:${gateway.port}/v1/completions`;
  const answer = fetch(url, { method: 'POST', body: BODY, signal });
  const { closed } = await first.next();
  leaving.abort();
  await expect(answer).rejects.toThrow();
  await closed;
  expect(second.visits).toBe(0);
});
