import { lstatSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { messageOf } from '../../../framework/error.ts';
import type { MessageSocket, MessageSocketOptions, Millis } from '../../../framework/runtime.ts';
import { timeoutAfterReads } from '../../clock/timeout-after-reads.ts';
import { type CurveKeys, readCurveKeys } from './curve/curve-keys.ts';
import {
  CONNECT_MS,
  RECONNECT_MS,
  RECONNECT_MS_MAX,
  REOPEN_MS,
  ZMQ_MESSAGE_BYTES_MAX,
} from './zmq-limits.ts';
import { BadPeer, speakZmtp } from './zmtp-connection.ts';

/**
 * Publishers that may be connected to one address of ours, and what they may have begun to send.
 */
const PUBLISHERS_MAX = 4096;
const UNFINISHED_BYTES_MAX: number = 16 * ZMQ_MESSAGE_BYTES_MAX;
/** Bad publishers at an address of ours are reported this often: anyone may connect to it. */
const REPORT_MS = 60_000;
/** Messages that wait for a connection; the last ones count. */
const EARLY_MAX = 16;

/**
 * Opens a ZMQ socket, which connects and listens again by itself. Never throws: failures go to
 * `onFailed`.
 */
export function openZmqSocket(options: MessageSocketOptions): MessageSocket {
  let at: Place;
  try {
    at = placeOf(options.address);
  } catch (error) {
    const what = options.bind === true ? 'listen at' : 'connect to';
    queueMicrotask(() =>
      options.onFailed?.(`cannot ${what} ${options.address}: ${messageOf(error)}`),
    );
    return { send: () => undefined, close: () => undefined };
  }
  return options.bind === true ? new Listening(at, options) : new Connecting(at, options);
}

/** `host` and `port`, or the `path` of a Unix socket. */
type Place = { readonly host: string; readonly port: number } | { readonly path: string };

function placeOf(address: string): Place {
  if (address.startsWith('ipc://')) return { path: address.slice('ipc://'.length) };
  const parts = /^tcp:\/\/(?:\[(?<ipv6>[^\]]+)\]|(?<host>[^\s:/]+)):(?<port>\d{1,5})$/.exec(
    address,
  );
  const { ipv6, host, port = '' } = parts?.groups ?? {};
  const name = ipv6 ?? host;
  if (name === undefined || Number(port) > 65_535) {
    throw new Error('it must be tcp://host:port or ipc:///path');
  }
  return { host: name === '*' ? '0.0.0.0' : name, port: Number(port) };
}

/** A socket that connects, and again when the connection has ended. */
class Connecting implements MessageSocket {
  readonly #at: Place;
  readonly #options: MessageSocketOptions;
  readonly #room = { left: ZMQ_MESSAGE_BYTES_MAX };
  #socket: Socket | undefined;
  /** Messages to send once the peer is ready; undefined while it is. */
  #early: (readonly Uint8Array[])[] | undefined = [];
  #send: (frames: readonly Uint8Array[]) => void = () => undefined;
  #waitMs: Millis = RECONNECT_MS;
  #reconnecting: NodeJS.Timeout | undefined;
  #reported = '';
  #closed = false;

  constructor(at: Place, options: MessageSocketOptions) {
    this.#at = at;
    this.#options = options;
    void this.#connect();
  }

  send(frames: readonly Uint8Array[]): void {
    if (this.#early === undefined) this.#send(frames);
    else if (this.#early.push(frames) > EARLY_MAX) this.#early.shift();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#reconnecting);
    this.#socket?.destroy();
  }

  async #connect(): Promise<void> {
    try {
      const curve = keysOf(this.#options);
      const socket = connectInTime(this.#at);
      this.#socket = socket;
      await speakZmtp({
        ...this.#options,
        curve,
        socket,
        room: this.#room,
        onReady: (send) => {
          this.#send = send;
          this.#ready();
        },
        onMessage: (frames) => {
          this.#reported = '';
          this.#options.onMessage(frames);
        },
      });
    } catch (error) {
      // A peer that is not there, or has gone, is tried again and not logged, as by libzmq.
      if (error instanceof BadPeer) this.#blame(error);
    }
    if (this.#closed) return;
    this.#early ??= [];
    this.#reconnecting = setTimeout(() => void this.#connect(), this.#waitMs).unref();
    this.#waitMs = Math.min(2 * this.#waitMs, RECONNECT_MS_MAX);
  }

  #ready(): void {
    if (this.#closed) return;
    this.#waitMs = RECONNECT_MS;
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const frames of early) this.send(frames);
    this.#options.onConnected?.();
  }

  /** Says once what is wrong, until a message has come. */
  #blame({ message }: BadPeer): void {
    this.#waitMs = REOPEN_MS;
    if (this.#closed || this.#reported === message) return;
    this.#reported = message;
    this.#options.onFailed?.(
      `cannot read from ${this.#options.address}: ${message}; trying again every ${REOPEN_MS / 1000} s`,
    );
  }
}

/** Connects within `CONNECT_MS`, or fails as where no peer is there. */
function connectInTime(at: Place): Socket {
  const socket = connect(at).unref();
  const giveUp = (): void => {
    if (socket.connecting) socket.destroy(new Error(`no connection within ${CONNECT_MS} ms`));
  };
  const tooLate = timeoutAfterReads(CONNECT_MS, giveUp);
  return socket.once('close', () => clearTimeout(tooLate));
}

/** The keys as their files have them now; undefined without encryption. Throws a BadPeer. */
function keysOf({ curve, bind = false }: MessageSocketOptions): CurveKeys | undefined {
  try {
    return curve && readCurveKeys(curve, bind ? 'server' : 'client');
  } catch (error) {
    throw new BadPeer(messageOf(error));
  }
}

/** A subscriber that publishers connect to. */
class Listening implements MessageSocket {
  readonly #at: Place;
  readonly #options: MessageSocketOptions;
  readonly #sockets = new Set<Socket>();
  readonly #room = { left: UNFINISHED_BYTES_MAX };
  #server: Server | undefined;
  #reopening: NodeJS.Timeout | undefined;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(at: Place, options: MessageSocketOptions) {
    this.#at = at;
    this.#options = options;
    queueMicrotask(() => this.#open());
  }

  /** A subscriber sends nothing. */
  send(): void {
    return undefined;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#reopening);
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #open(): void {
    if (this.#closed) return;
    let curve: CurveKeys | undefined;
    try {
      curve = keysOf(this.#options);
    } catch (error) {
      return this.#failed(messageOf(error));
    }
    removeOldSocket(this.#at);
    const server = createServer((socket) => this.#serve(socket.unref(), curve)).unref();
    server.maxConnections = PUBLISHERS_MAX;
    server.on('error', ({ message }) => this.#failed(message));
    this.#server = server;
    server.listen(this.#at);
  }

  #serve(socket: Socket, curve: CurveKeys | undefined): void {
    this.#sockets.add(socket);
    const onReady = (): void => this.#options.onConnected?.();
    void speakZmtp({ ...this.#options, curve, socket, room: this.#room, onReady })
      .catch((error: unknown) => this.#blame(error))
      .finally(() => this.#sockets.delete(socket));
  }

  #failed(reason: string): void {
    this.#options.onFailed?.(
      `cannot listen at ${this.#options.address}: ${reason}; trying again every ${REOPEN_MS / 1000} s`,
    );
    this.#server?.close();
    if (!this.#closed) this.#reopening = setTimeout(() => this.#open(), REOPEN_MS).unref();
  }

  #blame(error: unknown): void {
    if (this.#closed || !(error instanceof BadPeer)) return;
    if (performance.now() - this.#reportedAt < REPORT_MS) return;
    this.#reportedAt = performance.now();
    this.#options.onFailed?.(
      `a publisher at ${this.#options.address} is cut off: ${error.message}`,
    );
  }
}

/** One that a killed process has left would keep the address taken for ever. */
function removeOldSocket(at: Place): void {
  if (!('path' in at)) return;
  try {
    if (lstatSync(at.path).isSocket()) rmSync(at.path);
  } catch {
    // There is none, or what is wrong with the path is said when we listen there.
  }
}
