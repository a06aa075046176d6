interface Cuttable {
  readonly destroyed: boolean;
  destroy(): unknown;
}

interface OpenReply extends Cuttable {
  once(event: 'finish' | 'close', listener: () => void): unknown;
}

/** Four of the longest metrics pages: more than all scrapers together take at a time. */
const BYTES_MAX = 128 * 1024 * 1024;

/**
 * Replies that clients have not taken yet. A connection has one at a time: one that asks again
 * before it has its reply is cut, because thousands of requests fit into one read. Past the bound
 * of bytes the oldest reply is cut, so that clients which do not read do not keep others out.
 */
export class OpenReplies {
  readonly #bytesMax: number;
  readonly #asking = new WeakSet<Cuttable>();
  readonly #open = new Map<OpenReply, number>();
  #bytes = 0;

  constructor(bytesMax: number = BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** Whether the request may be answered; its connection is cut where it may not. */
  admits(socket: Cuttable, response: OpenReply): boolean {
    if (socket.destroyed) return false;
    if (this.#asking.has(socket)) {
      socket.destroy();
      return false;
    }
    this.#asking.add(socket);
    const over = (): void => {
      this.#asking.delete(socket);
      this.#forget(response);
    };
    response.once('finish', over);
    response.once('close', over);
    return true;
  }

  /** The reply has so many bytes, which are kept until it has left. */
  hold(response: OpenReply, bytes: number): void {
    if (response.destroyed) return;
    this.#open.set(response, bytes);
    this.#bytes += bytes;
    for (const oldest of this.#open.keys()) {
      if (this.#bytes <= this.#bytesMax || oldest === response) return;
      this.#forget(oldest);
      oldest.destroy();
    }
  }

  #forget(response: OpenReply): void {
    this.#bytes -= this.#open.get(response) ?? 0;
    this.#open.delete(response);
  }
}
