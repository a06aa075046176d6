import type { Socket } from 'node:net';
import { limitReads } from './small-reads.ts';

/** Heads of servers have some hundred bytes. */
const HEAD_BYTES_MAX = 16 * 1024;
/** Larger than what the guard lets pass: undici's own limit is switched off by it. */
export const UNBOUNDED_HEAD_BYTES: number = 1024 * 1024;

/** A server sends what no sound one does, to keep its client at work. */
export class FloodingServerError extends Error {
  override readonly name = 'FloodingServerError';
}

/**
 * Ends a connection whose server sends headers or trailers without end. undici goes on reading the
 * headers of what it has got after its own limit, and makes an error for each: a server that sent
 * the shortest ones kept a processor busy. So its own limit is switched off, and this one applies
 * before its parser.
 */
export class HeadGuard {
  readonly #socket: Socket;
  #bytes = 0;

  /** `onRead` is called before undici reads what a piece says. */
  constructor(socket: Socket, onRead?: (guard: HeadGuard) => void) {
    this.#socket = socket;
    limitReads(socket);
    const read = socket.read.bind(socket);
    socket.read = (size?: number): unknown => {
      if (this.#isFlooded()) return null;
      const piece: unknown = read(size);
      if (piece instanceof Uint8Array) this.#bytes += piece.length;
      onRead?.(this);
      return piece;
    };
  }

  /** The server has begun to answer, or sent a part of a body. */
  progressed(): void {
    this.#bytes = 0;
  }

  #isFlooded(): boolean {
    if (this.#bytes <= HEAD_BYTES_MAX) return false;
    const message = `it sent more than ${HEAD_BYTES_MAX} bytes of headers`;
    this.#socket.destroy(new FloodingServerError(message));
    return true;
  }
}
