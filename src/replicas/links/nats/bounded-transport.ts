import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionOptions, Server } from '@nats-io/nats-core';
import type { Transport } from '@nats-io/nats-core/internal';
import { messageOf } from '../../../framework/error.ts';
import type { Millis } from '../../../framework/runtime.ts';
import { nodeClock } from '../../../runtime/clock/node-clock.ts';
import { loadTls } from '../../../runtime/modules/node-modules.ts';
import { trustNamedAuthorities } from '../../../runtime/network/client/named-authorities.ts';
import { BadServer, infoOf, ServerBytes } from './server-bytes.ts';
import { ServerTime } from './server-time.ts';

/** Read at once: the shortest lines in so many bytes take a millisecond or two. */
const SLICE_BYTES: number = 16 * 1024;
/** A greeting is one line, and is all that a server sends before it is answered. */
const GREETING_BYTES_MAX: number = 64 * 1024;
/** What is sent and not read. The link stops at half of it. */
const UNREAD_BYTES_MAX: number = 16 * 1024 * 1024;
/** Each takes some hundred bytes however short it is: answers to pings, for one. */
const UNREAD_WRITES_MAX = 10_000;

const CLOCK = nodeClock();

/**
 * The CPU time of this thread, where it can be known: the server is not at fault for what other
 * processes take.
 */
function worked(): Millis {
  return CLOCK.cpuTime?.() ?? CLOCK.now();
}

/** What the client of NATS passes on to its transport. */
export interface TransportOptions extends ConnectionOptions {
  readonly messageBytesMax: number;
  readonly onTooLarge: (bytes: number) => void;
  /** The server sends what it must not, and its connection is ended. */
  readonly onBadServer: (reason: string) => void;
}

/**
 * A connection of the client of NATS, in place of its own: that one keeps whatever a server sends
 * before the client has read it, and asks for more whatever it costs.
 */
export class BoundedTransport implements Transport {
  readonly lang = 'pointsman';
  readonly version = '1';
  closeError?: Error;
  readonly #ended = Promise.withResolvers<Error | void>();
  #options: TransportOptions | undefined;
  #socket: Socket | undefined;
  #greeting: Uint8Array | undefined;
  #unreadWrites = 0;
  #isOpen = false;
  #isClosed = false;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Rejects with the reason. The client gives it up after the time in its options. */
  async connect(server: Server, options: ConnectionOptions): Promise<void> {
    this.#options = options as TransportOptions;
    try {
      const { hostname: host, port, tlsName: servername } = server;
      const socket = connectTcp({ host, port, noDelay: true });
      this.#socket = socket;
      await once(socket, 'connect');
      const greeting = await greetingOf(socket);
      this.#greeting = greeting;
      this.#socket = await secured(socket, greeting, { options, host, servername });
      if (this.#isClosed) throw new Error('the connection is given up');
      // An error ends the reading below, which says it.
      this.#socket.on('error', () => undefined);
      this.#isOpen = true;
    } catch (error) {
      this.#socket?.destroy();
      if (error instanceof BadServer) this.#options.onBadServer(error.message);
      throw error;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    // This is why it ends, unless the client stops reading because of an error of its own.
    let reason: unknown = new BadServer('it sends what the client of NATS cannot read');
    try {
      yield* this.#read();
      reason = undefined;
    } catch (error) {
      reason = error;
    } finally {
      this.#end(reason);
    }
  }

  isEncrypted(): boolean {
    return this.#socket instanceof loadTls().TLSSocket;
  }

  send(frame: Uint8Array): void {
    const socket = this.#socket;
    if (this.#isClosed || socket === undefined) return;
    const isUnread =
      socket.writableLength > UNREAD_BYTES_MAX || this.#unreadWrites > UNREAD_WRITES_MAX;
    if (isUnread) return this.#end(new BadServer('it does not read what is sent to it'));
    this.#unreadWrites += 1;
    socket.write(frame, () => {
      this.#unreadWrites -= 1;
    });
  }

  close(error?: Error): Promise<void> {
    this.#end(error);
    return Promise.resolve();
  }

  disconnect(): void {
    this.#end(undefined);
  }

  closed(): Promise<Error | void> {
    return this.#ended.promise;
  }

  /** Ends the connection and sends nothing more. */
  discard(): void {
    this.#isClosed = true;
    this.#socket?.destroy();
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    const [socket, options] = [this.#socket, this.#options];
    if (socket === undefined || options === undefined || this.#greeting === undefined) return;
    const bytes = new ServerBytes(options);
    yield* bytes.push(this.#greeting);
    this.#greeting = undefined;
    const time = new ServerTime(CLOCK.now());
    for await (const chunk of socket as AsyncIterable<Uint8Array>) {
      for (let at = 0; at < chunk.length && !this.#isClosed; at += SLICE_BYTES) {
        const workedBefore = worked();
        yield* bytes.push(chunk.subarray(at, at + SLICE_BYTES));
        const holdMs = time.worked(worked() - workedBefore, CLOCK.now());
        if (holdMs > 0) await delay(holdMs, undefined, { ref: false });
      }
    }
  }

  #end(reason: unknown): void {
    this.#socket?.destroy();
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (reason instanceof BadServer) this.#options?.onBadServer(reason.message);
    if (reason instanceof Error) this.closeError = reason;
    // The client connects again by itself where this one was not open yet.
    if (this.#isOpen) this.#ended.resolve(this.closeError);
  }
}

/** All that a server sends before it is answered: its first line, and nothing else. */
function greetingOf(socket: Socket): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const read = (chunk: Buffer): void => {
    chunks.push(chunk);
    bytes += chunk.length;
    const isWhole = chunk.includes('\n');
    if (!isWhole && bytes <= GREETING_BYTES_MAX) return;
    socket.pause();
    socket.off('data', read);
    if (isWhole) resolve(Buffer.concat(chunks));
    else reject(new BadServer(`its greeting has more than ${GREETING_BYTES_MAX} bytes`));
  };
  socket.on('data', read);
  socket.once('error', reject);
  socket.once('close', () => reject(new Error('the server ends the connection')));
  return promise;
}

interface Securing {
  readonly options: ConnectionOptions;
  readonly host: string;
  /** The name in the certificate; empty for an address. */
  readonly servername: string;
}

/** The connection with TLS, where either side asks for it. */
async function secured(
  socket: Socket,
  greeting: Buffer,
  { options, host, servername }: Securing,
): Promise<Socket> {
  const end = greeting.indexOf('\n') + 1;
  const { tls_required: isRequired, tls_available: isAvailable } = infoOf(
    greeting.subarray(0, end),
  );
  if (isRequired !== true && isAvailable !== true) {
    if (options.tls) throw new Error('the server has no TLS');
    return socket;
  }
  // Otherwise another on the way could answer in the server's name.
  if (end < greeting.length) throw new BadServer('it sends more than its greeting before TLS');
  trustNamedAuthorities();
  const secure = loadTls().connect({ ...options.tls, socket, host, servername });
  try {
    await once(secure, 'secureConnect');
  } catch (error) {
    throw new Error(`TLS: ${messageOf(error)}`, { cause: error });
  }
  return secure;
}
