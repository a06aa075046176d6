import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { buildConnector } from 'undici';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../../../bench/support/stack.ts';
import { SimulatedClock } from '../../clock/simulated-clock.ts';
import { PacedAgent } from './paced-agent.ts';

const HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const END = '0\r\n\r\n';
const CHUNKS = 400_000;

let server: Server;
let answer: (socket: Socket) => void;
let agent: PacedAgent;
let clock: SimulatedClock;

beforeEach(async () => {
  server = createServer((socket) => {
    socket.on('error', () => undefined).on('data', () => answer(socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  clock = new SimulatedClock();
  agent = new PacedAgent({ clock, connections: null, connect: buildConnector({ timeout: 0 }) });
});
afterEach(async () => {
  await agent.destroy();
  server.close();
});

async function get(text: string): Promise<Readable> {
  answer = (socket) => void socket.write(text);
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { body } = await agent.request({ origin, path: '/', method: 'GET' });
  return body;
}

async function text(body: Readable): Promise<string> {
  const pieces = (await body.toArray()) as Buffer[];
  return Buffer.concat(pieces).toString();
}

it('[V450] an answer in tiny chunks is read on as time passes, and others at once', async () => {
  const flood = await get(`${HEAD}${'1\r\nx\r\n'.repeat(CHUNKS)}${END}`);
  let flooded = 0;
  flood.on('data', ({ length }: Buffer) => {
    flooded += length;
  });
  await eventually(
    () => flooded,
    (count) => count > 10_000,
  );
  for (let count = 0; count < 20; count++) {
    const body = await get(`${HEAD}${'8\r\ntext tex\r\n'.repeat(90)}${END}`);
    expect(await text(body)).toBe('text tex'.repeat(90));
  }
  expect(flooded).toBeLessThan(60_000);
  await eventually(
    () => {
      clock.advanceTo(clock.now() + 100);
      return flooded;
    },
    (count) => count === CHUNKS,
  );
  expect(clock.now()).toBeGreaterThanOrEqual(3_000);
});

it('[V450] chunks that came together are one piece', async () => {
  const words = Array.from({ length: 90 }, (_, index) => `word ${index} `);
  const chunks = words.map((word) => `${word.length.toString(16)}\r\n${word}\r\n`);
  const body = await get(`${HEAD}${chunks.join('')}${END}`);
  const pieces: string[] = [];
  body.on('data', (piece) => void pieces.push(String(piece)));
  await once(body, 'end');
  expect(pieces).toEqual([words.join('')]);
});

it('[V450] a reader that stops is not read ahead for, and gets everything once it goes on', async () => {
  const chunk = `4000\r\n${'y'.repeat(0x4000)}\r\n`;
  const body = await get(`${HEAD}${chunk.repeat(500)}${END}`);
  body.pause();
  await eventually(
    () => body.readableLength,
    (bytes) => bytes >= 0x4000,
  );
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
  expect(body.readableLength).toBeLessThan(512 * 1024);
  expect((await text(body)).length).toBe(500 * 0x4000);
});

it('[V450] an answer that breaks off fails after what has come of it', async () => {
  answer = (socket) => void socket.end(`${HEAD}3\r\nabc\r\n`);
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { body } = await agent.request({ origin, path: '/', method: 'GET' });
  let got = '';
  await expect(
    (async () => {
      for await (const piece of body) got += String(piece);
    })(),
  ).rejects.toThrow('closed');
  expect(got).toBe('abc');
});

const HEADERS = 'a:\r\n'.repeat(100_000);

it('[V522] a server that sends headers without end loses its connection at its first 32 KiB', async () => {
  await expect(get(`HTTP/1.1 200 OK\r\n${HEADERS}`)).rejects.toThrow(
    'it sent more than 16384 bytes of headers',
  );
});

it('[V522] a server that sends trailers without end breaks its answer off', async () => {
  const body = await get(`${HEAD}2\r\n{}\r\n0\r\n${HEADERS}`);
  await expect(text(body)).rejects.toThrow('it sent more than 16384 bytes of headers');
});

it('[V522] long bodies, many chunks and headers of 15 KB pass beside one another', async () => {
  const long = 'x'.repeat(300_000);
  const answers = [
    `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(15_000)}\r\ncontent-length: 2\r\n\r\nok`,
    `HTTP/1.1 200 OK\r\ncontent-length: ${long.length}\r\n\r\n${long}`,
    `${HEAD}${'8\r\ntext tex\r\n'.repeat(90)}${END}`,
    `${HEAD}${long.length.toString(16)}\r\n${long}\r\n0\r\nx-end: 1\r\n\r\n`,
  ];
  const bodies: Readable[] = [];
  for (const each of answers) bodies.push(await get(each));
  const texts = await Promise.all(bodies.map(text));
  expect(texts.map(({ length }) => length)).toEqual([2, 300_000, 720, 300_000]);
});
