import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { boxKey, newPair } from './curve/curve-box.ts';
import type { CurveKeys } from './curve/curve-keys.ts';
import { createMechanism, type Mechanism } from './mechanism.ts';
import { ZMQ_MESSAGE_BYTES_MAX } from './zmq-limits.ts';
import { commandBody, commandBytes, messageBytes } from './zmtp-frames.ts';
import { ZmtpReader } from './zmtp-reader.ts';

/** Both sides of CURVE in one process, and an attacker on the line between them. */

interface Side {
  readonly mechanism: Mechanism;
  readonly reader: ZmtpReader;
  /** What it wants to send. */
  readonly out: Uint8Array[];
  readonly messages: string[][];
  readonly commands: string[];
  readonly room: { left: number };
  ready: boolean;
}

function sideWith(curve: CurveKeys | undefined): Side {
  const out: Uint8Array[] = [];
  const messages: string[][] = [];
  const commands: string[] = [];
  const room = { left: ZMQ_MESSAGE_BYTES_MAX };
  const mechanism = createMechanism(
    { kind: 'subscriber', curve, room },
    {
      send: (bytes) => void out.push(bytes),
      ready: () => {
        side.ready = true;
      },
      command: (name, data) => void commands.push(`${name} ${Buffer.from(data).toString()}`),
      message: (frames) => void messages.push(frames.map((frame) => hex(frame))),
    },
  );
  const reader = new ZmtpReader(mechanism, room);
  const side: Side = { mechanism, reader, out, messages, commands, room, ready: false };
  out.push(mechanism.opening());
  return side;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const serverPair = newPair();
let server: Side;
let client: Side;

function connect(keys: Partial<CurveKeys> = {}): void {
  server = sideWith({ side: 'server', pair: serverPair });
  const own = { side: 'client', pair: newPair(), serverKey: serverPair.publicKey, ...keys };
  client = sideWith(own as CurveKeys);
}
beforeEach(() => connect());

/**
 * Passes on what both want to send, until nobody does; `change` may alter the piece with that
 * number.
 */
function exchange(change = (piece: Uint8Array, _number: number): Uint8Array => piece): void {
  for (let number = 0; client.out.length + server.out.length > 0; number++) {
    const [from, to] = client.out.length > 0 ? [client, server] : [server, client];
    to.reader.push(change(from.out.shift() as Uint8Array, number));
  }
}

describe('CURVE', () => {
  it('[V445] gives each side the messages and commands of the other, whatever they are', () => {
    exchange();
    expect([client.ready, server.ready]).toEqual([true, true]);
    const frames = fc.array(fc.uint8Array({ maxLength: 600 }), { minLength: 1, maxLength: 16 });
    fc.assert(
      fc.property(frames, fc.boolean(), (sent, fromClient) => {
        const [from, to] = fromClient ? [client, server] : [server, client];
        to.reader.push(from.mechanism.messageBytes(sent));
        expect(to.messages.pop()).toEqual(sent.map((frame) => hex(frame)));
        to.reader.push(from.mechanism.commandBytes('PING', Buffer.from('??x')));
        expect(to.commands.pop()).toBe('PING ??x');
      }),
      { seed: 445, numRuns: 60 },
    );
    expect([client.room, server.room]).toEqual(Array(2).fill({ left: ZMQ_MESSAGE_BYTES_MAX }));
  });

  it('[V446] comes about with no peer that has another key, and with none that does not encrypt', () => {
    connect({ serverKey: newPair().publicKey });
    expect(() => exchange()).toThrow(/keys of both sides do not match/);
    connect();
    client = sideWith(undefined);
    expect(() => exchange()).toThrow(/it speaks "NULL", not CURVE/);
    expect([client.ready, server.ready]).toEqual([false, false]);
  });

  it('[V446] does not come about where one bit of it was changed on the way', () => {
    const lengths: number[] = [];
    exchange((piece, number) => {
      lengths[number] = piece.length;
      return piece;
    });
    expect(lengths).toEqual([64 + 202, 64, 170, expect.any(Number), expect.any(Number)]);
    /**
     * Behind names and padding, which are not secret; the server's greeting has nothing to protect.
     */
    const begins: ReadonlyMap<number, number> = new Map([
      [0, 64 + 2 + 6 + 74],
      [2, 2 + 8],
      [3, 9 + 9],
      [4, 2 + 6],
    ]);
    const number = fc.constantFrom(...begins.keys());
    const flip = fc.record({ number, at: fc.nat(100_000), bit: fc.nat(7) });
    fc.assert(
      fc.property(flip, ({ number, at, bit }) => {
        const begin = begins.get(number) ?? 0;
        const place = begin + (at % ((lengths[number] as number) - begin));
        connect();
        const changed = (piece: Uint8Array, each: number): Uint8Array => {
          if (each !== number) return piece;
          const copy = Buffer.from(piece);
          copy[place] = (copy[place] as number) ^ (1 << bit);
          return copy;
        };
        expect(() => exchange(changed)).toThrow();
        expect(client.ready && server.ready).toBe(false);
      }),
      { seed: 446, numRuns: 300 },
    );
  });

  it('[V446] refuses a message that comes again, comes back, was changed or was not encrypted', () => {
    exchange();
    const bytes = server.mechanism.messageBytes([Buffer.from('once')]);
    client.reader.push(bytes);
    expect(client.messages).toEqual([[hex(Buffer.from('once'))]]);
    expect(() => client.reader.push(bytes)).toThrow(/nonce again/);
    connect();
    exchange();
    expect(() =>
      client.reader.push(client.mechanism.messageBytes([Buffer.from('a message')])),
    ).toThrow(/cannot be opened/);
    connect();
    exchange();
    const next = Buffer.from(server.mechanism.messageBytes([Buffer.from('a message')]));
    next[next.length - 1] = (next.at(-1) as number) ^ 1;
    expect(() => client.reader.push(next)).toThrow(/cannot be opened/);
    for (const plain of [
      messageBytes([Buffer.from('plain')]),
      messageBytes([commandBody('MESSAGE', Buffer.alloc(40)), Buffer.from('more')]),
      commandBytes(commandBody('PING', Buffer.alloc(2))),
      commandBytes(commandBody('MESSAGE', Buffer.alloc(4))),
    ]) {
      connect();
      exchange();
      expect(() => client.reader.push(plain)).toThrow(/not encrypted|cut short/);
    }
    expect(client.messages).toEqual([]);
  });

  it('[V446] refuses commands out of turn, of the wrong length, and with keys that give no secret', () => {
    const hello = Buffer.from(client.out[0] as Uint8Array).subarray(64);
    const steps = (...pieces: readonly Uint8Array[]) => {
      connect();
      const greeting = (client.out[0] as Uint8Array).subarray(0, 64);
      return () =>
        pieces.reduce((_, piece) => server.reader.push(piece), server.reader.push(greeting));
    };
    const command = (name: string, bytes: number): Uint8Array =>
      commandBytes(commandBody(name, Buffer.alloc(bytes)));
    expect(steps(command('READY', 8))).toThrow(/sends "READY" where/);
    expect(steps(command('INITIATE', 300))).toThrow(/sends "INITIATE" where/);
    expect(steps(command('HELLO', 193))).toThrow(/HELLO has 193 bytes, not the 194/);
    expect(steps(command('HELLO', 194))).toThrow(/version 0 of CURVE/);
    expect(steps(hello, hello)).toThrow(/sends "HELLO" where/);
    expect(steps(hello, command('INITIATE', 247))).toThrow(/too short/);
    expect(steps(hello, command('INITIATE', 300))).toThrow(/another cookie/);
    expect(steps(messageBytes([Buffer.from('early')]))).toThrow(/not encrypted/);
    const weak = Buffer.from(hello);
    weak.fill(0, 82, 114);
    weak[113] = 1;
    expect(steps(weak)).toThrow();
    expect(() => boxKey(serverPair.secretKey, Buffer.alloc(32))).toThrow();
  });

  it('[V447] keeps 16 frames and 4 MiB of a message at most, as without encryption', () => {
    exchange();
    const part = (bytes: number): Uint8Array => {
      const whole = Buffer.from(server.mechanism.messageBytes([Buffer.alloc(bytes), NOTHING]));
      // Without its last frame.
      return whole.subarray(0, -(2 + 8 + 8 + 16 + 1));
    };
    const NOTHING = Buffer.alloc(0);
    const skipped = (times: number, bytes: number) => () => {
      for (let count = 0; count < times; count++) client.reader.push(part(bytes));
    };
    expect(skipped(16, 10)).not.toThrow();
    expect(skipped(1, 10)).toThrow(/more than 16 frames/);
    connect();
    exchange();
    expect(skipped(1, 2_000_000)).not.toThrow();
    expect(client.room.left).toBe(ZMQ_MESSAGE_BYTES_MAX - 2_000_000);
    expect(skipped(2, 2_000_000)).toThrow(/more than 4194304 bytes|too much memory/);
    client.mechanism.close();
    client.reader.close();
    expect(client.room.left).toBe(ZMQ_MESSAGE_BYTES_MAX);
    connect();
    exchange();
    const long = server.mechanism.commandBytes('PING', Buffer.alloc(1100));
    expect(() => client.reader.push(long)).toThrow(/a command has 1105 bytes/);
  });
});
