import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { messageOf } from '../../../framework/error.ts';
import type { MessageSocketOptions } from '../../../framework/runtime.ts';
import { timeoutAfterReads } from '../../clock/timeout-after-reads.ts';
import type { CurveKeys } from './curve/curve-keys.ts';
import { createMechanism, type Mechanism } from './mechanism.ts';
import type { ReadRoom } from './unfinished-message.ts';
import { SenderPace } from './zmq-limits.ts';
import { ZmtpReader } from './zmtp-reader.ts';

/** The shortest messages in so many bytes take some milliseconds. */
const SLICE_BYTES = 8192;
/** Bytes written that the peer has not read, before further answers. */
const UNREAD_BYTES_MAX = 65_536;
/** libzmq's limit. */
const HANDSHAKE_MS = 30_000;
/** A peer that has sent nothing for so long is asked whether it is still there. */
const KEEPALIVE_MS = 10_000;

/** The peer has sent what it must not, or a message of it could not be handled. */
export class BadPeer extends Error {}

interface ZmtpOptions extends Pick<MessageSocketOptions, 'kind' | 'topic' | 'onMessage'> {
  readonly socket: Socket;
  readonly room: ReadRoom;
  /** Undefined: without encryption. */
  readonly curve: CurveKeys | undefined;
  /** Called once, when both sides have said what they are, with what sends a message. */
  readonly onReady: (send: (frames: readonly Uint8Array[]) => void) => void;
}

/**
 * Speaks ZMTP as a subscriber or dealer until the connection ends. Throws BadPeer with the reason
 * where it ends it itself, and what the socket throws.
 */
export async function speakZmtp(options: ZmtpOptions): Promise<void> {
  const { socket, room } = options;
  let isReady = false;
  const giveUp = (): void => {
    if (!isReady) socket.destroy(new BadPeer(`no handshake within ${HANDSHAKE_MS / 1000} s`));
  };
  const tooSlow = timeoutAfterReads(HANDSHAKE_MS, giveUp);
  const mechanism: Mechanism = createMechanism(options, {
    send: (bytes) => void socket.write(bytes),
    ready: () => {
      isReady = true;
      clearTimeout(tooSlow);
      begin(mechanism, options);
    },
    command: (name, data) => answer({ name, data }, mechanism, socket),
    message: (frames) => {
      if (!socket.destroyed && hasTopic(frames, options)) options.onMessage(frames);
    },
  });
  const reader = new ZmtpReader(mechanism, room);
  socket.setNoDelay(true).setKeepAlive(true, KEEPALIVE_MS);
  socket.write(mechanism.opening());
  try {
    await read(socket, reader);
    if (options.curve !== undefined && !isReady) {
      throw new BadPeer('it ended the connection within the CURVE handshake: are the keys right?');
    }
  } finally {
    clearTimeout(tooSlow);
    reader.close();
    mechanism.close();
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

function begin(mechanism: Mechanism, { socket, kind, topic = '', onReady }: ZmtpOptions): void {
  if (kind === 'subscriber') {
    const subscription = Buffer.concat([Buffer.of(1), Buffer.from(topic)]);
    socket.write(mechanism.messageBytes([subscription]));
  }
  onReady((frames) => void socket.write(mechanism.messageBytes(frames)));
}

interface Command {
  readonly name: string;
  readonly data: Uint8Array;
}

function answer({ name, data }: Command, mechanism: Mechanism, socket: Socket): void {
  if (name === 'PING') {
    if (socket.writableLength > UNREAD_BYTES_MAX) throw new Error('it does not read our answers');
    // Behind the time to live, in two bytes, is what the answer has to repeat.
    socket.write(mechanism.commandBytes('PONG', data.subarray(2)));
  } else if (name === 'ERROR') {
    throw new Error(`it refuses the connection: ${Buffer.from(data.subarray(1)).toString()}`);
  }
}

function hasTopic([first]: readonly Uint8Array[], { kind, topic = '' }: ZmtpOptions): boolean {
  if (kind === 'dealer' || topic === '') return true;
  const beginning = Buffer.from(topic);
  return first !== undefined && beginning.equals(first.subarray(0, beginning.length));
}
