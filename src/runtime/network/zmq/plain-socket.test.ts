import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Publisher } from 'zeromq';
import { eventually } from '../../../../bench/support/stack.ts';
import type { MessageSocketOptions } from '../../../framework/runtime.ts';
import { openZmqSocket } from './zmq-socket.ts';
import { messageBytes } from './zmtp-frames.ts';

const until = (holds: () => boolean | Promise<boolean>): Promise<boolean> =>
  eventually(holds, Boolean);

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const GREETING = Buffer.concat([
  Buffer.from([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0]),
  Buffer.from('NULL'),
  Buffer.alloc(48),
]);
const READY = Buffer.concat([Buffer.from([4, 6, 5]), Buffer.from('READY')]);

/** A peer that sends these bytes to each client, and keeps what it is sent. */
async function peer(...bytes: readonly Uint8Array[]) {
  const received: Buffer[] = [];
  const connected: Socket[] = [];
  const server = createServer((socket) => {
    connected.push(socket);
    socket.on('error', () => undefined).on('data', (data) => void received.push(data));
    socket.write(Buffer.concat(bytes));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.close();
    for (const socket of connected) socket.destroy();
  });
  const address = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { address, connected, received };
}

function open(options: Omit<MessageSocketOptions, 'kind' | 'onMessage'>) {
  const received: string[] = [];
  const failures: string[] = [];
  const socket = openZmqSocket({
    kind: 'subscriber',
    onMessage: (frames) =>
      void received.push(frames.map((frame) => Buffer.from(frame).toString()).join(' ')),
    onFailed: (reason) => void failures.push(reason),
    ...options,
  });
  closers.push(() => socket.close());
  return { received, failures };
}

describe('a ZMQ socket without encryption', () => {
  it('[V311] cuts off a publisher whose message has frames without end', async () => {
    const { address, connected } = await peer(GREETING, READY);
    const { failures } = open({ address });
    await until(() => connected.length === 1);
    const [socket] = connected;
    const closed = once(socket as Socket, 'close');
    for (let frame = 0; frame < 17; frame++) socket?.write(Buffer.from([1, 1, 0]));
    await closed;
    await until(() => failures.length > 0);
    expect(failures[0]).toMatch(/^cannot read from tcp:.*more than 16 frames; trying again every/);
  });

  it('[V311] takes no message before the handshake, and no handshake twice', async () => {
    const message = messageBytes([Buffer.from('early')]);
    const early = open({ address: (await peer(GREETING, message)).address });
    const twice = open({ address: (await peer(GREETING, READY, READY)).address });
    await until(() => early.failures.length + twice.failures.length === 2);
    expect(early.received).toEqual([]);
    expect(early.failures[0]).toMatch(/before it is ready/);
    expect(twice.failures[0]).toMatch(/twice/);
  });

  it('[V54] names the protocol of a port that belongs to no publisher', async () => {
    const { address } = await peer(Buffer.from('HTTP/1.1 400 Bad Request\r\n'.repeat(4)));
    const { failures } = open({ address });
    await until(() => failures.length > 0);
    expect(failures[0]).toMatch(/does not speak ZMTP 3/);
  });

  it('[V311] listens for publishers, keeps those whose messages are sound, and takes their topic only', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-zmq-'));
    closers.push(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'events');
    const { received, failures } = open({ address: `ipc://${path}`, bind: true, topic: 'kv@' });
    const publisher = new Publisher({ linger: 0 });
    closers.push(() => publisher.close());
    publisher.connect(`ipc://${path}`);
    await until(async () => {
      await publisher.send(['other', 'no']);
      await publisher.send(['kv@pod', 'yes']);
      return received.length > 0;
    });
    const bad = connect(path).on('error', () => undefined);
    const closed = once(bad, 'close');
    bad.write(Buffer.concat([GREETING, READY, Buffer.from([2, 0, 0, 0, 1, 0, 0, 0, 0])]));
    bad.resume();
    await closed;
    expect(failures[0]).toMatch(/^a publisher at ipc:.* is cut off: a message has more than/);
    const before = received.length;
    await publisher.send(['kv@pod', 'still']);
    await until(() => received.length > before);
    expect(new Set(received)).toEqual(new Set(['kv@pod yes', 'kv@pod still']));
  });
});
