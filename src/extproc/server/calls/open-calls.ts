import type { Http2Stream } from '../../http2/stream.ts';
import { endCall, GRPC, type Method } from './grpc.ts';

/**
 * Bounds how many calls are open at once, on all connections together. Where there are too many,
 * the oldest ends: a new one must not fail because others wait.
 */
export class OpenCalls {
  readonly #callsMax: number;
  /** How the message of an end names them. */
  readonly #name: string;
  /** The oldest first. */
  readonly #open = new Set<Http2Stream>();

  constructor(callsMax: number, name: string) {
    this.#callsMax = callsMax;
    this.#name = name;
  }

  counted(method: Method): Method {
    return (stream) => {
      const [oldest] = this.#open.size >= this.#callsMax ? this.#open : [];
      if (oldest !== undefined) {
        this.#open.delete(oldest);
        const why = `more than ${this.#callsMax} ${this.#name} calls are open, and this is the oldest`;
        endCall(oldest, GRPC.resourceExhausted, why);
      }
      this.#open.add(stream);
      const handler = method(stream);
      const closed = (): void => {
        this.#open.delete(stream);
        handler.closed();
      };
      return { ...handler, closed };
    };
  }
}
