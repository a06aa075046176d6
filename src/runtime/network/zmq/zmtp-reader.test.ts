import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReadRoom } from './unfinished-message.ts';
import { ZMQ_MESSAGE_BYTES_MAX } from './zmq-limits.ts';
import { messageBytes } from './zmtp-frames.ts';
import { ZmtpReader } from './zmtp-reader.ts';

const greeting = (mechanism = 'NULL', major = 3): Uint8Array =>
  Buffer.concat([
    Buffer.from([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, major, 1]),
    Buffer.from(mechanism.padEnd(20, '\0')),
    Buffer.alloc(32),
  ]);

function setUp(room: ReadRoom = { left: ZMQ_MESSAGE_BYTES_MAX }) {
  const messages: string[][] = [];
  const commands: string[] = [];
  const reader = new ZmtpReader(
    {
      name: 'NULL',
      command: (name, data) => void commands.push(`${name} ${data.length}`),
      message: (frames) => void messages.push(frames.map((frame) => Buffer.from(frame).toString())),
    },
    room,
  );
  return { reader, messages, commands, room };
}

/** The head of a frame that says how long it is, without the rest of it. */
function head(bytes: number, flags = 1): Uint8Array {
  const long = Buffer.alloc(9);
  long[0] = flags | 2;
  long.writeBigUInt64BE(BigInt(bytes), 1);
  return long;
}

describe('reading ZMTP', () => {
  it('[V311] gives the same messages however they are cut into pieces', () => {
    const text = fc.string({ maxLength: 600 });
    const sent = fc.array(fc.array(text, { minLength: 1, maxLength: 4 }), { maxLength: 8 });
    fc.assert(
      fc.property(sent, fc.array(fc.nat(400), { minLength: 1 }), (given, sizes) => {
        const { reader, messages, room } = setUp();
        const frames = given.map((each) => messageBytes(each.map((one) => Buffer.from(one))));
        const bytes = Buffer.concat([greeting(), ...frames]);
        for (let at = 0, piece = 0; at < bytes.length; piece++) {
          const size = 1 + (sizes[piece % sizes.length] as number);
          reader.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect(messages).toEqual(given);
        expect(room.left).toBe(ZMQ_MESSAGE_BYTES_MAX);
      }),
      { seed: 311 },
    );
  });

  it('[V311] reads commands between messages', () => {
    const { reader, commands, messages } = setUp();
    const ping = Buffer.from([4, 7, 4, ...Buffer.from('PING'), 0, 10]);
    reader.push(Buffer.concat([greeting(), ping, messageBytes([Buffer.from('a')]), ping]));
    expect([commands, messages]).toEqual([['PING 2', 'PING 2'], [['a']]]);
  });

  it.each([
    ['frames without end', Buffer.concat(Array(17).fill(Buffer.from([1, 0]))), /more than 16 fr/],
    ['a long frame', head(ZMQ_MESSAGE_BYTES_MAX + 1), /more than 4194304 bytes/],
    ['a frame of 2⁶⁴ bytes', Buffer.from([2, ...Array(8).fill(255)]), /more than 4194304 bytes/],
    [
      'a long message',
      Buffer.concat([Buffer.from([1, 1, 0]), head(ZMQ_MESSAGE_BYTES_MAX)]),
      /bytes/,
    ],
    ['a long command', head(1025, 4), /a command has 1025 bytes/],
    ['flags that are none', Buffer.of(8), /flags 8/],
  ])('[V311] refuses %s', (_, bytes, reason) => {
    const { reader } = setUp();
    reader.push(greeting());
    expect(() => reader.push(bytes)).toThrow(reason);
  });

  it('[V311] refuses what is no ZMTP, and other mechanisms with their name', () => {
    expect(() => setUp().reader.push(Buffer.alloc(64, 'HTTP/1.1 '))).toThrow(/speak ZMTP 3/);
    expect(() => setUp().reader.push(greeting('NULL', 1))).toThrow(/speak ZMTP 3/);
    expect(() => setUp().reader.push(greeting('CURVE'))).toThrow(/"CURVE".*kvEventsConfig.curve/);
  });

  it('[V311] takes no more than there is room for, and gives it back', () => {
    const room = { left: 1000 };
    const [one, other] = [setUp(room).reader, setUp(room).reader];
    for (const reader of [one, other]) reader.push(greeting());
    one.push(head(900));
    expect(room.left).toBe(100);
    expect(() => other.push(head(101))).toThrow(/too much memory/);
    one.close();
    expect(room.left).toBe(1000);
  });
});
