import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../../framework/runtime.ts';
import { ChunkRate } from '../pieces/chunk-rate.ts';

/**
 * A request is not held before it has sent so many: no honest client has more in one read of 64
 * KiB.
 */
const FREE = 1000;

/** Connections that are not read at the moment, because their clients have sent too many chunks. */
const held = new WeakSet<Socket>();

/** Reads a paused connection again, unless its client has to wait for another reason. */
export function resumeUnlessHeld(socket: Socket): void {
  if (!held.has(socket)) socket.resume();
}

/**
 * Bounds what the bodies of all requests take of the process by their chunks: a connection whose
 * chunks are tiny is not read for a while, so that others have their turns.
 */
export class ChunkPace {
  readonly #rate: ChunkRate;

  constructor(clock: Clock) {
    this.#rate = new ChunkRate(clock);
  }

  /** To be called once for a request that comes in chunks, before its body is read. */
  watch(request: IncomingMessage): void {
    const { socket } = request;
    let chunks = 0;
    const hold = (): void => {
      if (request.destroyed || request.complete) return;
      held.add(socket);
      socket.pause();
      this.#rate.whenRoom(chunks, () => {
        chunks = 0;
        held.delete(socket);
        socket.resume();
      });
    };
    const count = (): void => {
      chunks += 1;
      // In a turn of its own: Node resumes the connection once it has given what it has read.
      if (chunks === FREE) setImmediate(hold);
    };
    // A listener for data would begin to read.
    request.once('resume', () => void request.on('data', count));
  }
}
