import type { Http2Stream } from '../../http2/stream.ts';
import { endCall, GRPC } from './grpc.ts';
import type { MessageReader } from './message-reader.ts';

interface ReadingCall {
  readonly stream: Http2Stream;
  readonly reader: MessageReader;
}

/**
 * Bounds the memory of the messages that have begun, and whose end is to come, of all calls
 * together. Past the bound the call with the largest part ends: its peer sends large messages
 * slowly, and others go on.
 */
export class MessageParts {
  readonly #bytesMax: number;
  /** How the message of an end names the calls. */
  readonly #name: string;
  readonly #bytesOf = new Map<ReadingCall, number>();
  #bytes = 0;

  constructor(bytesMax: number, name: string) {
    this.#bytesMax = bytesMax;
    this.#name = name;
  }

  /** The call has read all that has come. */
  changed(call: ReadingCall): void {
    this.#count(call, call.reader.partMemoryBytes);
    while (this.#bytes > this.#bytesMax) this.#endLargest();
  }

  /** Frees what the call has kept. */
  closed(call: ReadingCall): void {
    call.reader.close();
    this.#count(call, 0);
  }

  #count(call: ReadingCall, bytes: number): void {
    this.#bytes += bytes - (this.#bytesOf.get(call) ?? 0);
    if (bytes === 0) this.#bytesOf.delete(call);
    else this.#bytesOf.set(call, bytes);
  }

  #endLargest(): void {
    let largest: ReadingCall | undefined;
    let bytes = 0;
    for (const [call, kept] of this.#bytesOf) if (kept > bytes) [largest, bytes] = [call, kept];
    if (largest === undefined) return;
    this.closed(largest);
    const why = `the ${this.#name} calls keep more than ${this.#bytesMax} bytes of messages whose end is missing`;
    endCall(
      largest.stream,
      GRPC.resourceExhausted,
      `${why}, and this one keeps the most: send each message as a whole`,
    );
  }
}
