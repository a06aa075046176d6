import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { startSidecar } from '../../src/sidecar/start-sidecar.ts';
import { startScriptedPicker } from '../support/grpc/scripted-picker.ts';
import { gatewayBefore } from '../support/servers/gateway-before.ts';
import { sidecarOptions } from '../support/sidecar/sidecar-options.ts';

/** An engine that answers without end in chunks of a byte. */

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked';
const FLOOD = '1\r\nx\r\n'.repeat(10_000);

let engine: Server;
let engineAddress: string;
let clock: SimulatedClock;
const stops: (() => unknown)[] = [];

beforeEach(async () => {
  clock = new SimulatedClock();
  engine = createServer((socket) => {
    const flood = (): void => {
      while (!socket.destroyed && socket.write(FLOOD)) continue;
    };
    socket.on('error', () => undefined).on('drain', flood);
    socket.once('data', () => {
      socket.write(`${HEAD}\r\n\r\n`);
      flood();
    });
  }).listen(0, '127.0.0.1');
  await once(engine, 'listening');
  engineAddress = `127.0.0.1:${(engine.address() as AddressInfo).port}`;
  stops.push(() => engine.close());
});
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function sidecar(): Promise<string> {
  const started = await startSidecar(sidecarOptions({ engine: engineAddress, clock }));
  stops.push(() => started.stop());
  return started.address;
}

async function gateway(): Promise<string> {
  const picker = await startScriptedPicker(engineAddress);
  stops.push(() => picker.stop());
  const started = await gatewayBefore(picker.port, { clock });
  stops.push(() => started.stop());
  return `127.0.0.1:${started.port}`;
}

it.each([
  ['sidecar', sidecar],
  ['embedded gateway', gateway],
])('[V450] gets no further in the %s than time goes on', async (_, start) => {
  const address = await start();
  const answer = await fetch(`http://${address}/v1/completions`, { method: 'POST', body: '{}' });
  let bytes = 0;
  const body = Readable.fromWeb(answer.body as never).on('error', () => undefined);
  body.on('data', ({ length }: Buffer) => {
    bytes += length;
  });
  await eventually(
    () => bytes,
    (count) => count > 20_000,
  );
  // What was on the way before the answer was held.
  for (let turn = 0; turn < 2_000; turn++) await new Promise(setImmediate);
  expect(bytes).toBeLessThan(60_000);
  await eventually(
    () => {
      clock.advanceTo(clock.now() + 100);
      return bytes;
    },
    (count) => count > 300_000,
  );
  expect(clock.now()).toBeGreaterThanOrEqual(2_000);
  body.destroy();
});
