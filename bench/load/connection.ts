import { connect, type Socket } from 'node:net';
import { type HttpMessage, HttpReader } from './http-reader.ts';

export interface Reply {
  readonly status: number;
  /** Chunks of a chunked body. */
  readonly pieces: number;
}

/**
 * A keep-alive HTTP/1.1 connection to 127.0.0.1, for one request at a time. Opens again after a
 * failure.
 */
export class Connection {
  readonly #port: number;
  #socket: Socket | undefined;
  #reader: HttpReader | undefined;
  #answered: ((reply: Reply | undefined) => void) | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** Calls `answered` once: with the reply, or with undefined when the connection breaks. */
  send(request: Buffer, answered: (reply: Reply | undefined) => void): void {
    if (this.#answered !== undefined) throw new Error('this connection already has a request');
    this.#answered = answered;
    this.#socket ??= this.#open();
    this.#socket.write(request);
  }

  /** Chunks so far of the answer under way. */
  get piecesSoFar(): number {
    return this.#reader?.piecesSoFar ?? 0;
  }

  /** Abandons the request in flight without calling its `answered`. */
  close(): void {
    this.#answered = undefined;
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#reader = undefined;
  }

  #open(): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    const reader = new HttpReader((message) => this.#onMessage(message));
    this.#reader = reader;
    socket.on('data', (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch (error) {
        socket.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    });
    // The `close` event follows and reports the failure.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.#socket === socket) {
        this.#socket = undefined;
        this.#reader = undefined;
        this.#report(undefined);
      }
    });
    return socket;
  }

  #onMessage({ head, pieces }: HttpMessage): void {
    this.#report({ status: Number(head.slice(9, 12)), pieces });
  }

  #report(reply: Reply | undefined): void {
    const answered = this.#answered;
    this.#answered = undefined;
    answered?.(reply);
  }
}
