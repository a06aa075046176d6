import type { RoutingError } from '../../framework/error.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { ByteAccount } from './byte-account.ts';
import type { MemoryPool } from './memory-pool.ts';
import type { RequestIds } from './request-ids.ts';

/** What a stream does, as far as its limits depend on it. */
export type StreamPhase =
  /** The request's body comes chunk by chunk, and the pick waits for it. */
  | 'uploading'
  /** The request's body is gathered by the proxy, and the pick waits for it. */
  | 'gathering'
  /** The pick waits: for room, for a scheduler, or for another thread. */
  | 'waiting'
  /** The request has been picked for, and nothing of an answer has come. */
  | 'picked'
  /** The server's answer has begun, or the answer is none of the picker's business. */
  | 'answering'
  /** It was refused. Only its end is awaited. */
  | 'refused';

/** The stream behind an account. */
export interface StreamOwner {
  readonly phase: StreamPhase;
  /** Ends the request with an answer and frees its bytes; resets the stream if it cannot. */
  refuse(error: RoutingError): void;
  /** Ends the stream without an answer. */
  reset(): void;
  /** The server has broken off the answer; the stream’s end follows. */
  answerCut(): void;
}

/** What all streams have together, as far as the account of one changes it. */
interface SharedByStreams {
  readonly blocks: MemoryPool;
  readonly requestIds: RequestIds<StreamAccount>;
  heldBytes: number;
  /** Refuses streams where all together keep more bytes than they may. */
  keepBudget(): void;
  remove(account: StreamAccount): void;
}

/** One open stream: the bytes that it keeps, and its places in the lists of all streams. */
export class StreamAccount implements ByteAccount {
  readonly owner: StreamOwner;
  readonly openedAt: Millis;
  older: StreamAccount | undefined;
  newer: StreamAccount | undefined;
  heldBytes = 0;
  /** All bytes that have come so far. */
  receivedBytes = 0;
  /** When an upload last went on, and how far it had come then; the watch over uploads keeps it. */
  progress: { readonly at: Millis; readonly bytes: number };
  /** How long this process stood still during the upload; that watch keeps it, too. */
  stoodMs: Millis = 0;
  /** When that watch first saw the stream refused. */
  refusedAt: Millis | undefined;
  /** The header `x-request-id` of its request, which a client may have chosen. */
  clientRequestId: string | undefined;
  nextAlike: StreamAccount | undefined;
  previousAlike: StreamAccount | undefined;
  readonly #streams: SharedByStreams;
  #undelivered = 0;
  #closed = false;

  constructor(streams: SharedByStreams, owner: StreamOwner, now: Millis) {
    this.#streams = streams;
    this.owner = owner;
    this.openedAt = now;
    this.progress = { at: now, bytes: 0 };
  }

  get blocks(): MemoryPool {
    return this.#streams.blocks;
  }

  /** Bytes that have come, but in no message that was handed on. */
  get undeliveredBytes(): number {
    return this.#undelivered;
  }

  /** The headers of its request have come, with this `x-request-id`. */
  named(clientRequestId: string): void {
    if (this.#closed || this.clientRequestId !== undefined) return;
    this.clientRequestId = clientRequestId;
    this.#streams.requestIds.add(this);
  }

  /** Bytes have come from the transport. May refuse this stream or others. */
  received(bytes: number): void {
    this.receivedBytes += bytes;
    this.#undelivered += bytes;
    this.hold(bytes);
    this.#streams.keepBudget();
  }

  /** A message of so many bytes has been handed on. Compressed ones took fewer bytes to come. */
  delivered(bytes: number): void {
    const delivered = Math.min(bytes, this.#undelivered);
    this.#undelivered -= delivered;
    this.release(delivered);
  }

  /**
   * The transport keeps so many bytes more or less of what has come. May refuse this stream or
   * others.
   */
  kept(bytes: number): void {
    this.hold(bytes);
    if (bytes > 0) this.#streams.keepBudget();
  }

  hold(bytes: number): void {
    if (this.#closed) return;
    this.heldBytes += bytes;
    this.#streams.heldBytes += bytes;
  }

  release(bytes: number): void {
    // Answers that leave after their stream has closed were released with it.
    if (this.#closed) return;
    this.heldBytes -= bytes;
    this.#streams.heldBytes -= bytes;
  }

  /** The stream has closed: it keeps nothing. */
  close(): void {
    this.release(this.heldBytes);
    this.#closed = true;
    if (this.clientRequestId !== undefined) this.#streams.requestIds.remove(this);
    this.#streams.remove(this);
  }
}
