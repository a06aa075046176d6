import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { ZMQ_MESSAGE_BYTES_MAX } from './zmq-limits.ts';
import { speakZmtp } from './zmtp-connection.ts';
import { messageBytes } from './zmtp-frames.ts';

const GREETING = Buffer.concat([
  Buffer.from([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0]),
  Buffer.from('NULL'),
  Buffer.alloc(48),
]);
const READY = Buffer.concat([Buffer.from([4, 6, 5]), Buffer.from('READY')]);
const PING = Buffer.from([4, 15, 4, ...Buffer.from('PING'), 0, 10, ...Buffer.from('contextt')]);

/** A connection whose peer has sent these bytes; `reads`: whether it takes what we send. */
function speakWith(bytes: readonly Uint8Array[], reads: boolean) {
  const written: Buffer[] = [];
  const received: string[] = [];
  const stream = new Duplex({
    read: () => undefined,
    write: (piece: Buffer, _encoding, taken) => {
      written.push(piece);
      if (reads) taken();
    },
  });
  const socket = Object.assign(stream, { setNoDelay: () => stream, setKeepAlive: () => stream });
  stream.push(Buffer.concat(bytes));
  const over = speakZmtp({
    socket: socket as unknown as Socket,
    kind: 'subscriber',
    topic: 'kv@',
    curve: undefined,
    room: { left: ZMQ_MESSAGE_BYTES_MAX },
    onReady: () => void received.push('ready'),
    onMessage: (frames) => void received.push(String(Buffer.concat(frames))),
  });
  return { stream, over, received, written };
}

/** A connection whose peer has gone behind these bytes. */
async function spokenWith(bytes: readonly Uint8Array[], reads: boolean) {
  const { stream, over, received, written } = speakWith(bytes, reads);
  stream.push(null);
  await over;
  return { received, written: Buffer.concat(written).toString('latin1') };
}

it('subscribes once the peer is ready, and takes messages of the topic', async () => {
  const message = (text: string): Uint8Array => messageBytes([Buffer.from(text)]);
  const sent = [GREETING, READY, message('kv@a'), message('other'), message('kv@b')];
  const { received, written } = await spokenWith(sent, true);
  expect(received).toEqual(['ready', 'kv@a', 'kv@b']);
  expect(written).toContain('\u0001kv@');
});

it('[V311] answers pings, and cuts off a peer that does not read the answers', async () => {
  const { written } = await spokenWith([GREETING, READY, PING, PING], true);
  expect(written.split('PONGcontextt')).toHaveLength(3);
  const flood = spokenWith([GREETING, READY, ...Array(6000).fill(PING)], false);
  await expect(flood).rejects.toThrow(/does not read our answers/);
});

it('ends a connection that has no handshake within half a minute, and keeps one that has', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const silent = expect(speakWith([GREETING], true).over).rejects.toThrow(
      /no handshake within 30 s/,
    );
    const ready = speakWith([GREETING, READY], true);
    await turn();
    expect(ready.received).toEqual(['ready']);
    vi.advanceTimersByTime(31_000);
    await silent;
    expect(ready.stream.destroyed).toBe(false);
    ready.stream.push(null);
    await ready.over;
  } finally {
    vi.useRealTimers();
  }
});

it('[V554] takes a handshake that came while the process stood still for in time', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const { over, received, stream } = speakWith([GREETING], true);
    await turn();
    vi.advanceTimersByTime(31_000);
    stream.push(READY);
    await turn();
    await turn();
    expect([received, stream.destroyed]).toEqual([['ready'], false]);
    stream.push(null);
    await over;
  } finally {
    vi.useRealTimers();
  }
});
