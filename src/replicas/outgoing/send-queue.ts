/** A batch can exceed its bound by one entry and its texts, and stays far below what may wait. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024;

/** Sends to one replica, or without `to` to all. False where the message cannot be sent now. */
export type SendMessage = (message: Uint8Array, to?: string) => boolean;

export interface MessageCounts {
  readonly messages: number;
  readonly bytes: number;
  /** Messages that were dropped because they could not be sent in time. */
  readonly dropped: number;
}

/**
 * Messages to the link. Where it takes none, batches wait up to a bound; then the oldest are
 * dropped.
 */
export class SendQueue {
  readonly #send: SendMessage;
  readonly #counts = { messages: 0, bytes: 0, dropped: 0 };
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;

  constructor(send: SendMessage) {
    this.#send = send;
  }

  get counts(): MessageCounts {
    return this.#counts;
  }

  /** Sends it to all after those that wait, or keeps a copy. */
  add(message: Uint8Array): void {
    this.#sendWaiting();
    if (this.#waiting.length === 0 && this.#send(message)) return this.#countSent(message);
    this.#waiting.push(message.slice());
    this.#waitingBytes += message.length;
    while (this.#waitingBytes > WAITING_BYTES_MAX) {
      this.#takeOldest();
      this.#counts.dropped += 1;
    }
  }

  /** Sends it before those that wait, or drops it; then it returns false. */
  sendNow(message: Uint8Array, to: string | undefined): boolean {
    const sent = this.#send(message, to);
    if (sent) this.#countSent(message);
    else this.#counts.dropped += 1;
    return sent;
  }

  /** Drops all that wait. */
  drop(): void {
    this.#counts.dropped += this.#waiting.length;
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  #sendWaiting(): void {
    for (let [oldest] = this.#waiting; oldest !== undefined; [oldest] = this.#waiting) {
      if (!this.#send(oldest)) return;
      this.#takeOldest();
      this.#countSent(oldest);
    }
  }

  #takeOldest(): void {
    this.#waitingBytes -= this.#waiting.shift()?.length ?? 0;
  }

  #countSent({ length }: Uint8Array): void {
    this.#counts.messages += 1;
    this.#counts.bytes += length;
  }
}
