import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../clock/simulated-clock.ts';
import { HttpFront } from './http-front.ts';

const ASK = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';
const sockets: Socket[] = [];
let front: HttpFront;

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await front.stop();
});

/**
 * A port for two requests and two further connections, and the requests that it has not answered.
 */
async function start(
  hasSpareFiles: () => boolean = () => true,
): Promise<{ port: number; unanswered: ServerResponse[] }> {
  const unanswered: ServerResponse[] = [];
  front = new HttpFront({
    clock: new SimulatedClock(),
    requestsMax: 2,
    idleConnectionsMax: 2,
    hasSpareFiles,
    onRequest: ({ response }) => void unanswered.push(response),
    onRefused: (response, status, message) => void response.writeHead(status).end(message),
  });
  return { port: await front.listen('127.0.0.1', 0), unanswered };
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

const accepts = (port: number): Promise<boolean> =>
  connected(port).then(
    (socket) => socket.destroy() === socket,
    () => false,
  );

it('[V436] a client that holds idle connections does not keep others out', async () => {
  const { port, unanswered } = await start();
  const held: Socket[] = [];
  for (let count = 0; count < 4; count++) held.push(await connected(port));
  const ended = once(held[0] as Socket, 'close');
  const other = await connected(port);
  other.write(ASK);
  await ended;
  const answer = once(other, 'data');
  await expect.poll(() => unanswered.length, { timeout: 60_000 }).toBe(1);
  unanswered[0]?.end('here');
  expect(String(await answer)).toContain('here');
  expect(held.map(({ closed }) => closed)).toEqual([true, false, false, false]);
});

it('[V436] no request is cut for a new connection, and an answered one makes its connection the last', async () => {
  const { port, unanswered } = await start();
  const [asking, answered] = [await connected(port), await connected(port)];
  const idle = [await connected(port), await connected(port)];
  for (const socket of [asking, answered]) socket.write(ASK);
  await expect.poll(() => unanswered.length, { timeout: 60_000 }).toBe(2);
  const which = unanswered.findIndex(({ req }) => req.socket.remotePort === answered.localPort);
  const answer = once(answered, 'data');
  unanswered[which]?.end('ok');
  await answer;
  const ends = idle.map((socket) => once(socket, 'close'));
  await connected(port);
  await connected(port);
  await Promise.all(ends);
  expect([asking.closed, answered.closed]).toEqual([false, false]);
});

it('[V564] where hardly any more files can be opened, idle connections end, and none with a request', async () => {
  let spare = true;
  const { port, unanswered } = await start(() => spare);
  const asking = await connected(port);
  asking.write(ASK);
  await expect.poll(() => unanswered.length, { timeout: 60_000 }).toBe(1);
  const idle = await connected(port);
  const ended = once(idle, 'close');
  spare = false;
  front.makeRoom();
  await ended;
  expect(asking.closed).toBe(false);
});

it.each([
  ['http://other:1/v1/chat?a=b', '/v1/chat?a=b'],
  ['HTTPS://other', '/'],
  ['http://other?a', '/?a'],
  ['/v1/chat', '/v1/chat'],
  ['//v1/chat', '//v1/chat'],
])('[V452] reads the target %s as its path', async (target, path) => {
  const { port, unanswered } = await start();
  (await connected(port)).write(ASK.replace('/', target));
  await expect.poll(() => unanswered.length, { timeout: 60_000 }).toBe(1);
  expect(unanswered[0]?.req.url).toBe(path);
});

it.each([
  ['GET /v1/chat#a HTTP/1.1\r\nhost: a', 'the request target /v1/chat#a'],
  ['OPTIONS * HTTP/1.1\r\nhost: a', 'the request target *'],
  ['GET / HTTP/1.1\r\nhost: a\r\nhost: b', '2 Host headers'],
])('[V452] refuses with 400: %s', async (request, why) => {
  const { port, unanswered } = await start();
  const socket = await connected(port);
  socket.write(`${request}\r\n\r\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(String(answer)).toContain('HTTP/1.1 400 ');
  expect(String(answer)).toContain(why);
  expect(unanswered).toEqual([]);
});

const CHUNKS = '2\r\n{}\r\n0\r\n\r\n';
it.each([
  ['HTTP/1.0', 'chunked', '400', 'HTTP/1.0 has no Transfer-Encoding'],
  ['HTTP/1.1', 'gzip, chunked', '501', 'Transfer-Encoding gzip, chunked is not understood'],
])(
  '[V556] refuses a request of %s with Transfer-Encoding %s, and ends its connection',
  async (version, coding, status, why) => {
    const { port, unanswered } = await start();
    const socket = await connected(port);
    let answer = '';
    socket.setEncoding('latin1').on('data', (piece: string) => void (answer += piece));
    const head = `POST / ${version}\r\nhost: a\r\nconnection: keep-alive\r\n`;
    socket.write(`${head}transfer-encoding: ${coding}\r\n\r\n${CHUNKS}${ASK}`);
    await once(socket, 'close');
    expect(answer).toContain(`HTTP/1.1 ${status} `);
    expect(answer).toContain(why);
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(unanswered).toEqual([]);
  },
);

it('[O397] a client that asks for a WebSocket gets 501 and what to do; nothing is passed on', async () => {
  const { port, unanswered } = await start();
  const socket = await connected(port);
  socket.write(
    'GET /v1/realtime HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: WebSocket\r\n\r\n',
  );
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(String(answer)).toContain('HTTP/1.1 501 ');
  expect(String(answer)).toContain('WebSocket connections are not passed on here');
  expect(unanswered).toEqual([]);
});

it('[O397] an offer of HTTP/2 over the same connection is ignored', async () => {
  const { port, unanswered } = await start();
  const offer =
    'connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n';
  (await connected(port)).write(`GET /v1/models HTTP/1.1\r\nhost: a\r\n${offer}\r\n`);
  await expect.poll(() => unanswered.length, { timeout: 60_000 }).toBe(1);
});

/** Asks, and sends what comes. It needs no turn of this thread's loop. */
const CLIENT = `
  const { connect } = require('node:net');
  const { parentPort, workerData: { port, hasAsked, ask } } = require('node:worker_threads');
  let got = '';
  const socket = connect(port, '127.0.0.1').on('data', (data) => (got += data));
  socket.on('error', (error) => (got += error.code)).on('close', () => parentPort.postMessage(got));
  socket.write(ask, () => {
    Atomics.store(hasAsked, 0, 1);
    Atomics.notify(hasAsked, 0);
  });`;

it('[V518] a request that came while the process was busy is answered, though its port closes then', async () => {
  const clock = new SimulatedClock();
  front = new HttpFront({
    clock,
    requestsMax: 2,
    onRequest: ({ response }) => void response.end('here'),
    onRefused: () => undefined,
  });
  const port = await front.listen('127.0.0.1', 0);
  const ended = front.drain({ drainNoticeMs: 10, drainTimeoutMs: 1_000 });
  const hasAsked = new Int32Array(new SharedArrayBuffer(4));
  const client = new Worker(CLIENT, { eval: true, workerData: { port, hasAsked, ask: ASK } });
  const answer = once(client, 'message');
  Atomics.wait(hasAsked, 0, 0);
  clock.advanceTo(10);
  await ended;
  expect(String(await answer)).toContain('here');
});

it('[V518] all are answered whose connections the system had taken, though one is accepted in a turn', async () => {
  const clock = new SimulatedClock();
  front = new HttpFront({
    clock,
    requestsMax: 20,
    onRequest: ({ response }) => void response.end('here'),
    onRefused: () => undefined,
  });
  const port = await front.listen('127.0.0.1', 0);
  const ended = front.drain({ drainNoticeMs: 10, drainTimeoutMs: 1_000 });
  const clients = Array.from({ length: 8 }, () => {
    const hasAsked = new Int32Array(new SharedArrayBuffer(4));
    return {
      hasAsked,
      answer: once(
        new Worker(CLIENT, { eval: true, workerData: { port, hasAsked, ask: ASK } }),
        'message',
      ),
    };
  });
  for (const { hasAsked } of clients) Atomics.wait(hasAsked, 0, 0);
  clock.advanceTo(10);
  await ended;
  for (const { answer } of clients) expect(String(await answer)).toContain('here');
});

describe('[V561] a connection without a request, as the port closes', () => {
  let clock: SimulatedClock;
  let kept: Socket;
  let ended: Promise<void>;

  beforeEach(async () => {
    clock = new SimulatedClock();
    front = new HttpFront({
      clock,
      requestsMax: 2,
      onRequest: ({ response }) => void response.end('here'),
      onRefused: () => undefined,
    });
    const port = await front.listen('127.0.0.1', 0);
    kept = await connected(port);
    kept.write(ASK);
    await once(kept, 'data');
    ended = front.drain({ drainNoticeMs: 1000, drainTimeoutMs: 10_000 });
    clock.advanceTo(1000);
    await expect.poll(() => accepts(port), { timeout: 60_000 }).toBe(false);
  });

  it('serves a request that was on the way, and then ends', async () => {
    kept.write(ASK);
    expect(String((await once(kept, 'data'))[0])).toContain('onnection: close');
    await ended;
  });

  it('ends after a moment where none comes', async () => {
    clock.advanceTo(2000);
    await ended;
  });
});
