import { once } from 'node:events';
import { connect } from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { frameOf, openRawStream } from '../../../bench/support/ext-proc-frames.ts';
import { eventually } from '../../../bench/support/stack.ts';
import {
  type Answer,
  exchange,
  type ProcessorClient,
  type ProcessorStream,
  processorClient,
  requestBody,
  requestHeaders,
  requestPart,
} from '../../../test/support/grpc/ext-proc-client.ts';
import {
  type ReservingServer,
  startReservingServer,
} from '../../../test/support/session/reserving-server.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { limitsFor, type ServerLimits } from './port/server-limits.ts';

const MiB = 2 ** 20;
const HEADERS = requestHeaders({ ':method': 'POST', ':path': '/v1/completions' });
const BODY = requestBody('{"model":"m","prompt":"hello"}');

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function setUp(
  limits: Partial<ServerLimits>,
  clock = new SimulatedClock(),
): Promise<{ readonly server: ReservingServer; readonly client: ProcessorClient }> {
  const server = await startReservingServer({
    limits: { ...limitsFor(2 ** 30), ...limits },
    clock,
  });
  stops.push(() => server.drain({ noticeMs: 0, deadlineMs: 0 }));
  const client = processorClient(server.port);
  stops.push(() => client.close());
  return { server, client };
}

/** Begins an upload that never ends, and notes its refusal. */
function upload(client: ProcessorClient, refused: Answer[], bytes: number): ProcessorStream {
  const stream = client.Process();
  stream.on('error', () => undefined);
  stream.on('data', (answer: Answer) => {
    if (answer.response === 'immediate_response') refused.push(answer);
  });
  stream.write(HEADERS);
  stream.write(requestPart('{"model":"m","prompt":"'));
  for (let at = 0; at < bytes; at += 60_000) stream.write(requestPart('x'.repeat(60_000)));
  return stream;
}

const settled = (server: ReservingServer, refused: readonly Answer[], uploads: number) => () =>
  server.usage().heldBytes <= server.usage().heldBytesMax && refused.length < uploads;

/** Connections that begin a request and never end its headers. */
async function holdConnections(port: number, count: number): Promise<readonly Socket[]> {
  const headers = Buffer.alloc(9 + 1000, 0x82);
  headers.set([0, 0x03, 0xe8, 1, 0, 0, 0, 0, 1]);
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  const begun = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), settings, headers]);
  const sockets: Socket[] = [];
  for (let each = 0; each < count; each++) {
    const socket = connectSocket(port, '127.0.0.1').resume();
    stops.push(() => void socket.destroy());
    socket.on('error', () => undefined).write(begun);
    // Its settings say that it is served.
    await once(socket, 'data');
    sockets.push(socket);
  }
  return sockets;
}

describe('the limits of the ext_proc server', () => {
  it('[V437] end the oldest connection that has had no request, and keep no gateway out', async () => {
    const { server, client } = await setUp({ connectionsMax: 4 });
    const gateway = client.Process();
    gateway.on('error', () => undefined);
    gateway.write(HEADERS);
    gateway.write(BODY);
    await once(gateway, 'data');
    const held = await holdConnections(server.port, 9);
    await eventually(
      () => held.filter(({ closed }) => closed).length,
      (count) => count === 6,
    );
    expect(held.slice(6).map(({ closed }) => closed)).toEqual([false, false, false]);
    expect(await exchange(server.port, [HEADERS, BODY])).toHaveLength(2);
    expect(server.sessions()).toBe(1);
  });

  it('[V13] keeps 20 unfinished uploads of 3 MB within 16 MiB, and serves others meanwhile', async () => {
    const { server, client } = await setUp({ heldBytesMax: 16 * MiB });
    const refused: Answer[] = [];
    for (let index = 0; index < 20; index++) upload(client, refused, 3_000_000);
    // Four of 3.2 MB with what they cost have room beside the one that asks.
    await eventually(
      () => refused.length,
      (count) => count >= 15,
    );
    expect(settled(server, refused, 20)()).toBe(true);
    expect(refused[0]?.immediate_response?.status.code).toBe(429);
    const body = JSON.parse(String(refused[0]?.immediate_response?.body)) as object;
    expect(body).toMatchObject({ error: { reason: 'memory-full', type: 'rate_limit_error' } });
    const answers = await exchange(server.port, [HEADERS, BODY]);
    expect(answers.map(({ response }) => response)).toEqual(['request_headers', 'request_body']);
    expect(server.usage().refused.get('memory-full')).toBe(refused.length);
  });

  it('[V13] counts a message that does not come to its end', async () => {
    const { server } = await setUp({ heldBytesMax: 4 * MiB });
    const session = connect(`http://127.0.0.1:${server.port}`);
    stops.push(() => session.destroy());
    const stream = openRawStream(session);
    const closed = new Promise((resolve) => stream.once('close', resolve));
    stream.resume();
    // A frame that announces 60 MB.
    stream.write(Buffer.from([0, 3, 0x93, 0x87, 0]));
    for (let sent = 0; sent < 8; sent++) stream.write(Buffer.alloc(MiB));
    await eventually(
      () => server.usage(),
      ({ refused, heldBytes }) => refused.get('memory-full') === 1 && heldBytes <= 4 * MiB,
    );
    stream.end();
    stream.close(8);
    await closed;
  });

  it('[V13] resets a stream whose peer takes no answers when its bytes are needed', async () => {
    const { server, client } = await setUp({ heldBytesMax: 12 * MiB });
    const refused: Answer[] = [];
    const old = upload(client, refused, 5_000_000);
    await eventually(
      () => server.usage().heldBytes,
      (held) => held > 5_000_000,
    );
    const session = connect(`http://127.0.0.1:${server.port}`);
    stops.push(() => session.destroy());
    const stuck = openRawStream(session);
    const closed = new Promise((resolve) => stuck.once('close', resolve));
    stuck.write(frameOf(HEADERS));
    stuck.write(frameOf(requestPart('{"model":"m","prompt":"')));
    const piece = frameOf(requestPart('x'.repeat(60_000)));
    for (let sent = 0; sent < 100; sent++) stuck.write(piece);
    stuck.write(frameOf(requestBody('"}')));
    await eventually(
      () => server.reservations(),
      (held) => held === 1,
    );
    for (let sent = 0; sent < 40; sent++) old.write(requestPart('x'.repeat(60_000)));
    await eventually(
      () => server.reservations(),
      (held) => held === 0,
    );
    await closed;
    expect(stuck.rstCode).toBe(8);
    expect([refused, server.usage().refused.get('memory-full')]).toEqual([[], 1]);
  });

  it('[V14] answers an upload that stands still with 408, and gives its bytes back', async () => {
    const clock = new SimulatedClock();
    // A clock that jumps leaves a connection no time to show that it is alive.
    const { server, client } = await setUp({ keepaliveTimeMs: 0 }, clock);
    const refused: Answer[] = [];
    upload(client, refused, 600_000);
    await eventually(
      () => server.usage().heldBytes,
      (held) => held >= 600_000,
    );
    clock.advanceTo(1000);
    clock.advanceTo(31_000);
    await eventually(
      () => refused.length,
      (count) => count === 1,
    );
    expect(refused[0]?.immediate_response?.status.code).toBe(408);
    await eventually(
      () => server.usage().heldBytes,
      (held) => held < 10_000,
    );
    expect(server.refused).toEqual(['upload-timeout']);
  });

  it('[V15] answers a request beyond the bound of open streams with 503, and those open go on', async () => {
    const { server, client } = await setUp({ streamsMax: 3 });
    const streams = [1, 2, 3].map(() => client.Process());
    for (const stream of streams) stream.write(HEADERS);
    await eventually(
      () => server.sessions(),
      (sessions) => sessions === 3,
    );
    // Each connection has the bound, too: a second one asks for the fourth stream.
    const answers = await exchange(server.port, [HEADERS, BODY]);
    expect(answers.map((answer) => answer.immediate_response?.status.code)).toEqual([503]);
    expect(JSON.parse(String(answers[0]?.immediate_response?.body))).toMatchObject({
      error: { reason: 'too-many-streams' },
    });
    const got = new Promise<Answer>((resolve) => streams[0]?.once('data', resolve));
    streams[0]?.write(BODY);
    expect((await got).response).toBe('request_headers');
    for (const stream of streams) stream.on('error', () => undefined).cancel();
  });
});
