import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { messageOf } from '../../../framework/error.ts';
import type { MessageSocketOptions } from '../../../framework/runtime.ts';
import { SenderPace } from './zmq-limits.ts';
import { type ReadRoom, ZmtpReader } from './zmtp-reader.ts';

/** The shortest messages in so many bytes take some milliseconds. */
const SLICE_BYTES = 8192;
/** Bytes written that the peer has not read, before further answers. */
const UNREAD_BYTES_MAX = 65_536;
/** libzmq's limit. */
const HANDSHAKE_MS = 30_000;
/** A peer whose host is gone for this long is asked for a sign of life. */
const KEEPALIVE_MS = 10_000;

const LONG = 2;
const COMMAND = 4;

/** ZMTP 3.0, which every libzmq since 4.0 speaks, without encryption. */
const GREETING: Uint8Array = Buffer.concat([
  Buffer.from([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0]),
  Buffer.from('NULL'),
  Buffer.alloc(48),
]);

/** The peer has sent what it must not, or a message of it could not be handled. */
export class BadPeer extends Error {}

interface ConnectionOptions extends Pick<MessageSocketOptions, 'kind' | 'topic' | 'onMessage'> {
  readonly socket: Socket;
  readonly room: ReadRoom;
  /** Called once, when both sides have said what they are. */
  readonly onReady: () => void;
}

/**
 * Speaks ZMTP as a subscriber or dealer until the connection ends. Throws BadPeer with the reason
 * where it ends it itself, and what the socket throws.
 */
export async function speakZmtp(options: ConnectionOptions): Promise<void> {
  const { socket, room } = options;
  const tooSlow = setTimeout(() => {
    socket.destroy(new BadPeer(`no handshake within ${HANDSHAKE_MS / 1000} s`));
  }, HANDSHAKE_MS).unref();
  let isReady = false;
  const reader = new ZmtpReader(
    {
      command: (name, data) => {
        if (name === 'READY') {
          if (isReady) throw new Error('it says twice that it is ready');
          isReady = true;
          clearTimeout(tooSlow);
        }
        answer(name, data, options);
      },
      message: (frames) => {
        if (!isReady) throw new Error('it sends a message before it is ready');
        if (!socket.destroyed && hasTopic(frames, options)) options.onMessage(frames);
      },
    },
    room,
  );
  socket.setNoDelay(true).setKeepAlive(true, KEEPALIVE_MS);
  socket.write(Buffer.concat([GREETING, readyCommand(options.kind)]));
  try {
    await read(socket, reader);
  } finally {
    clearTimeout(tooSlow);
    reader.close();
    socket.destroy();
  }
}

async function read(socket: Socket, reader: ZmtpReader): Promise<void> {
  const pace = new SenderPace();
  for await (const chunk of socket as AsyncIterable<Uint8Array>) {
    for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
      const startedAt = performance.now();
      try {
        reader.push(chunk.subarray(at, at + SLICE_BYTES));
      } catch (error) {
        throw new BadPeer(messageOf(error));
      }
      const pause = pace.worked(performance.now() - startedAt);
      if (pause !== undefined) await pause;
    }
  }
}

/** The frames of one message as bytes. */
export function messageBytes(frames: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(
    frames.map((frame, at) => frameBytes(at + 1 < frames.length ? 1 : 0, frame)),
  );
}

function answer(name: string, data: Uint8Array, { socket, ...options }: ConnectionOptions): void {
  if (name === 'READY') {
    if (options.kind === 'subscriber') {
      const topic = Buffer.from(options.topic ?? '');
      socket.write(messageBytes([Buffer.concat([Buffer.of(1), topic])]));
    }
    options.onReady();
  } else if (name === 'PING') {
    if (socket.writableLength > UNREAD_BYTES_MAX) throw new Error('it does not read our answers');
    // Behind the time to live, in two bytes, is what the answer has to repeat.
    socket.write(commandBytes('PONG', data.subarray(2)));
  } else if (name === 'ERROR') {
    throw new Error(`it refuses the connection: ${Buffer.from(data.subarray(1)).toString()}`);
  }
}

function hasTopic(
  [first]: readonly Uint8Array[],
  { kind, topic = '' }: ConnectionOptions,
): boolean {
  if (kind === 'dealer' || topic === '') return true;
  const beginning = Buffer.from(topic);
  return first !== undefined && beginning.equals(first.subarray(0, beginning.length));
}

function readyCommand(kind: MessageSocketOptions['kind']): Uint8Array {
  const type = Buffer.from(kind === 'subscriber' ? 'SUB' : 'DEALER');
  const property = [shortText('Socket-Type'), Buffer.from([0, 0, 0, type.length]), type];
  return commandBytes('READY', Buffer.concat(property));
}

function commandBytes(name: string, data: Uint8Array): Uint8Array {
  return frameBytes(COMMAND, Buffer.concat([shortText(name), data]));
}

function shortText(text: string): Uint8Array {
  return Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
}

function frameBytes(flags: number, body: Uint8Array): Uint8Array {
  if (body.length < 256) return Buffer.concat([Buffer.of(flags, body.length), body]);
  const head = Buffer.alloc(9);
  head[0] = flags | LONG;
  head.writeBigUInt64BE(BigInt(body.length), 1);
  return Buffer.concat([head, body]);
}
