import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../../framework/runtime.ts';
import { ListenError } from '../../../runtime/network/server/listen.ts';
import { hasSpareFiles } from '../../../runtime/process/open-files.ts';
import { Http2Connection, PrefaceError } from '../../http2/connection.ts';
import type { StreamsOptions } from '../../http2/streams.ts';
import { freeChunk } from '../../streams/byte-account.ts';
import { type ClientFault, tlsFault } from './client-faults.ts';
import { keepAlive } from './keepalive.ts';
import type { ServerLimits } from './server-limits.ts';
import { SocketTransport } from './socket-transport.ts';
import { takePieces } from './take-pieces.ts';
import type { TlsCredentials } from './tls-credentials.ts';

export interface ListenerOptions extends Pick<StreamsOptions, 'onStream'> {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Others may listen there, too. Not every system can do so. */
  readonly sharesPort?: boolean | undefined;
  readonly tls: TlsCredentials | 'plaintext';
  readonly limits: Pick<
    ServerLimits,
    'connectionsMax' | 'streamsMax' | 'keepaliveTimeMs' | 'keepaliveTimeoutMs'
  >;
  readonly clock: Clock;
  /** Called for a client that fails before its first stream. */
  readonly onClientFault?: ((fault: ClientFault) => void) | undefined;
}

/** After so many bytes of one peer the others have their turns. libuv reads 2 MiB of it at once. */
const TURN_BYTES = 64 * 1024;

/** A port that serves HTTP/2. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  readonly #connections = new Map<Socket, Http2Connection>();
  /** Connections that had to make room, until their sockets have closed. */
  readonly #ending = new Set<Socket>();

  constructor(options: ListenerOptions) {
    this.#options = options;
    const onConnection = (socket: Socket): void => this.#serve(socket);
    this.#server =
      options.tls === 'plaintext'
        ? createServer({ noDelay: true }, onConnection)
        : options.tls.createServer(onConnection);
    this.#server.on('tlsClientError', (error: Error, socket: TLSSocket) => {
      const fault = tlsFault(error, socket);
      if (fault !== undefined) options.onClientFault?.(fault);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Rejects with a ListenError. */
  listen(): Promise<void> {
    const { host, port, sharesPort: reusePort = false } = this.#options;
    return new Promise((resolve, reject) => {
      const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
      this.#server.once('error', (error) => reject(new ListenError(address, error)));
      this.#server.listen({ port, host, reusePort }, resolve);
    });
  }

  /** Accepts nothing new. Resolves once all streams have ended and their connections with them. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      for (const connection of this.#connections.values()) connection.goAway();
    });
  }

  /** Cuts all connections. Call it after `close`. */
  cut(): void {
    for (const socket of [...this.#connections.keys(), ...this.#ending]) socket.destroy();
  }

  /**
   * Makes room for one connection more, also where hardly any more files can be opened. The oldest
   * that has never had a request ends, or else the oldest without one now: a client that holds
   * connections keeps no gateway out.
   */
  #makeRoom(): void {
    const { connectionsMax } = this.#options.limits;
    const hasFiles = hasSpareFiles();
    if (this.#connections.size < connectionsMax && hasFiles) return;
    const unused = this.#oldest(({ isUsed }) => !isUsed);
    const oldest = unused ?? this.#oldest(({ openStreams }) => openStreams === 0);
    if (oldest === undefined) return;
    const [socket, connection] = oldest;
    this.#connections.delete(socket);
    this.#ending.add(socket);
    // Its file is needed now, and its peer has asked nothing.
    if (!hasFiles && unused !== undefined) socket.destroy();
    else connection.goAway();
  }

  #oldest(
    fits: (connection: Http2Connection) => boolean,
  ): readonly [Socket, Http2Connection] | undefined {
    for (const each of this.#connections) if (fits(each[1])) return each;
    return undefined;
  }

  #serve(socket: Socket): void {
    const { limits, clock, onStream, onClientFault } = this.#options;
    socket.setNoDelay(true);
    const connection = new Http2Connection({
      transport: new SocketTransport(socket, clock),
      streamsMax: limits.streamsMax,
      onStream,
      onError: (error) => {
        if (error instanceof PrefaceError)
          onClientFault?.({
            kind: 'no-plaintext-http2',
            code: 'PROTOCOL_ERROR',
            from: socket.remoteAddress,
          });
      },
    });
    this.#makeRoom();
    this.#connections.set(socket, connection);
    const stopWatch = keepAlive(connection, { clock, ...limits }, () => socket.destroy());
    receiveInTurns(connection, socket);
    socket.on('drain', () => connection.drained());
    // The error says only that it ends, and `close` follows.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      stopWatch();
      this.#connections.delete(socket);
      this.#ending.delete(socket);
      connection.closed();
    });
  }
}

/** After so many bytes other connections come first. */
function receiveInTurns(connection: Http2Connection, socket: Socket): void {
  let turnBytes = 0;
  takePieces(socket, (bytes) => {
    turnBytes += bytes.length;
    if (turnBytes >= TURN_BYTES) {
      turnBytes = 0;
      socket.pause();
      setImmediate(resume, socket);
    }
    if (!connection.receive(bytes)) freeChunk(bytes);
  });
}

function resume(socket: Socket): void {
  socket.resume();
}
