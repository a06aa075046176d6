import type { Socket } from 'node:net';
import type { Clock, Millis } from '../../../framework/runtime.ts';
import type { Transport } from '../../http2/output.ts';

/**
 * After the last bytes have left, what the peer still sends is read for so long: closing at once
 * might lose them.
 */
const END_MS = 1000;

/** A TCP or TLS connection as HTTP/2 uses it. */
export class SocketTransport implements Transport {
  readonly #socket: Socket;
  readonly #clock: Clock;

  constructor(socket: Socket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  get idle(): boolean {
    return this.#socket.writableLength === 0;
  }

  get blocked(): boolean {
    return this.#socket.writableNeedDrain;
  }

  write(pieces: readonly Uint8Array[]): void {
    const socket = this.#socket;
    if (!socket.writable) return;
    if (pieces.length > 1) socket.cork();
    for (const piece of pieces) socket.write(piece);
    if (pieces.length > 1) socket.uncork();
  }

  now(): Millis {
    return this.#clock.now();
  }

  afterTurn(task: () => void): void {
    process.nextTick(task);
  }

  end(): void {
    const socket = this.#socket;
    if (!socket.writable) return;
    socket.end(() => {
      const timer = this.#clock.setTimer(END_MS, () => socket.destroy());
      socket.once('close', () => timer.cancel());
    });
  }
}
