import type { Millis } from '../../framework/runtime.ts';
import { HEAD_BYTES } from './frames.ts';

/** The socket of a connection, as far as sending uses it. */
export interface Transport {
  /** Sends the pieces in their order. They must not change until all has left. */
  write(pieces: readonly Uint8Array[]): void;
  /** Whether all that was written has left. */
  readonly idle: boolean;
  /** Whether so much waits that the caller should wait for `drained`. */
  readonly blocked: boolean;
  /** The time, which moves within a turn, too. */
  now(): Millis;
  /** Runs a task once the present turn is over. */
  afterTurn(task: () => void): void;
  /** Closes the connection once all that was written has left. */
  end(): void;
}

/**
 * A larger piece is sent from where it is; copying a smaller one costs less than a further write.
 */
const COPIED_BYTES_MAX = 8 * 1024;
const SLAB_BYTES_MIN = 4 * 1024;
const SLAB_BYTES_MAX = 64 * 1024;

/** Gathers the frames of a turn for one write, in memory that is used again once it has left. */
export class Output {
  #slab: Buffer = Buffer.alloc(0);
  /** Where the bytes begin that are not yet among the pieces. */
  #from = 0;
  #at = 0;
  #pieces: Uint8Array[] = [];
  /** What is to be done once all pieces so far have left. */
  #tasks: (() => void)[] = [];

  get empty(): boolean {
    return this.#from === this.#at && this.#pieces.length === 0;
  }

  /** The head of a frame, whose payload must be appended next. */
  head(type: number, flags: number, streamId: number, payloadBytes: number): void {
    this.#need(HEAD_BYTES);
    const slab = this.#slab;
    const at = this.#at;
    slab.writeUIntBE(payloadBytes, at, 3);
    slab[at + 3] = type;
    slab[at + 4] = flags;
    slab.writeUInt32BE(streamId, at + 5);
    this.#at = at + HEAD_BYTES;
  }

  append(bytes: Uint8Array): void {
    if (bytes.length > COPIED_BYTES_MAX) {
      this.#cut();
      this.#pieces.push(bytes);
      return;
    }
    this.#need(bytes.length);
    this.#slab.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  uint32(value: number): void {
    this.#need(4);
    this.#at = this.#slab.writeUInt32BE(value, this.#at);
  }

  uint16(value: number): void {
    this.#need(2);
    this.#at = this.#slab.writeUInt16BE(value, this.#at);
  }

  /** Runs a task after a later `flush` or `written`, once what was appended so far has left. */
  afterWritten(task: () => void): void {
    this.#tasks.push(task);
  }

  flush(transport: Transport): void {
    this.#cut();
    const pieces = this.#pieces;
    if (pieces.length > 0) {
      this.#pieces = [];
      transport.write(pieces);
      // While the transport is not idle, it still needs the bytes that are written before here.
      if (transport.idle) this.#from = this.#at = 0;
    }
    this.written(transport);
  }

  /** The transport may have become idle. Call it with nothing appended since the last `flush`. */
  written(transport: Transport): void {
    if (this.#tasks.length > 0 && this.empty && transport.idle) this.closed();
  }

  /** The transport has closed, or has sent all: it needs none of the memory any more. */
  closed(): void {
    const tasks = this.#tasks;
    this.#tasks = [];
    for (const task of tasks) task();
  }

  #cut(): void {
    if (this.#from < this.#at) this.#pieces.push(this.#slab.subarray(this.#from, this.#at));
    this.#from = this.#at;
  }

  #need(bytes: number): void {
    if (this.#at + bytes <= this.#slab.length) return;
    this.#cut();
    const doubled = Math.max(SLAB_BYTES_MIN, 2 * this.#slab.length);
    this.#slab = Buffer.allocUnsafeSlow(Math.max(bytes, Math.min(doubled, SLAB_BYTES_MAX)));
    this.#from = this.#at = 0;
  }
}
