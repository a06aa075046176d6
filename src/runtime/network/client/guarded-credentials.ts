import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { ChannelCredentials } from '@grpc/grpc-js';
import type { Clock } from '../../../framework/runtime.ts';
import type { Rate } from '../../clock/token-bucket.ts';
import { WholeBlocks } from './whole-blocks.ts';

/**
 * Has gRPC's connections read what servers send through `WholeBlocks`, so that no server can end
 * the process. Changes these credentials and returns them: gRPC knows them by their class. The
 * method is not documented; the package's version is exact.
 */
export function guardCredentials(
  credentials: ChannelCredentials,
  clock: Pick<Clock, 'now'>,
  frames?: Rate,
): ChannelCredentials {
  const create = credentials._createSecureConnector.bind(credentials);
  credentials._createSecureConnector = (...of) => {
    const connector = create(...of);
    return {
      connect: async (tcp) => {
        const { socket, secure } = await connector.connect(tcp);
        // gRPC hands it on to Node's HTTP/2, which takes any stream.
        return {
          socket: new GuardedSocket(socket, new WholeBlocks(clock, frames)) as Duplex as Socket,
          secure,
        };
      },
      waitForReady: () => connector.waitForReady(),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy: () => connector.destroy(),
    };
  };
  return credentials;
}

class GuardedSocket extends Duplex {
  readonly #socket: Socket;

  constructor(socket: Socket, blocks: WholeBlocks) {
    super();
    this.#socket = socket;
    socket.on('data', (bytes) => this.#take(blocks, bytes));
    socket.once('end', () => this.push(null));
    socket.once('close', () => this.destroy());
    socket.on('error', (error) => this.destroy(error));
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(bytes: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#socket.write(bytes, done);
  }

  override _writev(
    chunks: { readonly chunk: Buffer }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#socket.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #take(blocks: WholeBlocks, bytes: Buffer): void {
    let whole: Buffer;
    try {
      whole = blocks.take(bytes);
    } catch (error) {
      this.destroy(error as Error);
      return;
    }
    if (whole.length > 0 && !this.push(whole)) this.#socket.pause();
  }
}
