import { createMechanism } from '../../../src/runtime/network/zmq/mechanism.ts';
import { ZMQ_MESSAGE_BYTES_MAX } from '../../../src/runtime/network/zmq/zmq-limits.ts';
import { messageBytes } from '../../../src/runtime/network/zmq/zmtp-frames.ts';
import { ZmtpReader } from '../../../src/runtime/network/zmq/zmtp-reader.ts';
import { type FuzzTarget, promise, utf8 } from '../target.ts';

const GREETING = Buffer.concat([
  Buffer.from([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0]),
  Buffer.from('NULL'),
  Buffer.alloc(48),
]);
const READY = Buffer.concat([Buffer.from([4, 6, 5]), Buffer.from('READY')]);
const message = (...texts: string[]): Uint8Array => messageBytes(texts.map(utf8));

/** What is read when the bytes come in pieces of this length. */
function readIn(input: Uint8Array, piece: number): string {
  const room = { left: ZMQ_MESSAGE_BYTES_MAX };
  const read: string[] = [];
  const mechanism = createMechanism(
    { kind: 'subscriber', curve: undefined, room },
    {
      send: () => undefined,
      ready: () => void read.push('ready'),
      command: (name) => void read.push(`command ${name}`),
      message: (frames) =>
        void read.push(`message of ${frames.map(({ length }) => length).join()}`),
    },
  );
  const reader = new ZmtpReader(mechanism, room);
  try {
    for (let at = 0; at < input.length; at += piece) reader.push(input.subarray(at, at + piece));
  } catch (error) {
    // Each ends the connection with its sentence; a fault of the code is none of them.
    if (!(error instanceof Error) || error.name !== 'Error') throw error;
    read.push(error.message);
  }
  promise(room.left >= 0, () => `${room.left} bytes of room are left`);
  reader.close();
  mechanism.close();
  promise(room.left === ZMQ_MESSAGE_BYTES_MAX, () => `${room.left} bytes of room come back`);
  return read.join('; ');
}

/** A publisher of KV events: the same is read however the bytes are cut, or it is cut off. */
export const zmtp: FuzzTarget = {
  name: 'zmtp',
  seeds: [
    Buffer.concat([GREETING, READY, message('kv@a', '12345678', 'payload')]),
    Buffer.concat([GREETING, READY, Buffer.from([4, 7, 4]), utf8('PING'), Buffer.from([0, 1])]),
    Buffer.concat([GREETING, READY, Buffer.from([2, 0, 0, 0, 0, 0, 0, 0, 3]), utf8('abc')]),
    Buffer.concat([GREETING, Buffer.from([4, 9, 5]), utf8('ERROR'), Buffer.from([2]), utf8('no')]),
  ],
  words: ['READY', 'PING', 'NULL', 'CURVE', '\x01\x00', '\x04\x01', '\x02\xff\xff\xff\xff\xff'],
  run: (input) => {
    const whole = readIn(input, Math.max(1, input.length));
    const cut = readIn(input, 1 + (input.length % 7));
    promise(cut === whole, () => `"${cut}" and "${whole}"`);
    return whole.replace(/[0-9]+/g, '*').slice(0, 80);
  },
};
