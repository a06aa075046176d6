import { FRAME_HEAD_BYTES } from '../../../openai/grpc/grpc-frames.ts';
import { BLOCK_BYTES, freeMemory, type MemoryPool } from '../../streams/memory-pool.ts';
import { GRPC } from './grpc.ts';

/** What a frame that breaks gRPC's rules is answered with. */
export class FramingError extends Error {
  /** A status code of gRPC. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const NO_BYTES: Buffer = Buffer.alloc(0);
/** A smaller message takes no block, most of which would be empty. */
const SMALL_BYTES_MAX = 4096;

/**
 * Cuts the bytes of a stream into messages. A message that came in one piece is a view of that
 * piece; another one has memory of its own: a block of the pool where it fits, else its size.
 */
export class MessageReader {
  readonly #messageBytesMax: number;
  readonly #blocks: MemoryPool;
  #piece = NO_BYTES;
  #at = 0;
  /** Head and message as far as they have come, if they do not come in one piece. */
  #part: Buffer | undefined;
  #partBytes = 0;
  /** Whether the message that `next` has returned last was compressed. */
  #compressed = false;
  /** The memory of the message that `next` has returned last, if it is its own. */
  #own: Buffer | undefined;

  constructor(messageBytesMax: number, blocks: MemoryPool) {
    this.#messageBytesMax = messageBytesMax;
    this.#blocks = blocks;
  }

  get compressed(): boolean {
    return this.#compressed;
  }

  /** The memory of a message that has begun, and whose end is to come. */
  get partMemoryBytes(): number {
    return this.#part?.length ?? 0;
  }

  /** The last message has been handled: its memory is free, or is used further. */
  handled(memory: 'free' | 'used'): void {
    const own = this.#own;
    if (own === undefined) return;
    this.#own = undefined;
    if (own.length === BLOCK_BYTES && this.#blocks.withdraw()) return;
    if (memory === 'used') this.#leave(own);
    else this.#free(own);
  }

  /** No more bytes come: frees the beginning of a message. */
  close(): void {
    if (this.#part !== undefined) this.#free(this.#part);
    this.#part = undefined;
    this.#piece = NO_BYTES;
    this.#at = 0;
  }

  /** Call `next` then until it returns undefined. */
  push(piece: Buffer): void {
    this.#piece = piece;
    this.#at = 0;
  }

  /** The next complete message. Throws FramingError for one that is too large. */
  next(): Buffer | undefined {
    if (this.#part !== undefined) return this.#continued(this.#part);
    const piece = this.#piece;
    const start = this.#at + FRAME_HEAD_BYTES;
    if (start <= piece.length) {
      const length = this.#lengthAt(piece, this.#at);
      if (start + length <= piece.length) {
        this.#compressed = piece[this.#at] !== 0;
        this.#at = start + length;
        return piece.subarray(start, this.#at);
      }
    }
    if (this.#at < piece.length) {
      this.#part = NO_BYTES;
      this.#partBytes = 0;
      return this.#continued(this.#part);
    }
    this.#piece = NO_BYTES;
    this.#at = 0;
    return undefined;
  }

  #continued(before: Buffer): Buffer | undefined {
    let part = before;
    while (this.#partBytes < FRAME_HEAD_BYTES) {
      if (this.#at === this.#piece.length) return undefined;
      if (part.length === 0) part = this.#part = Buffer.allocUnsafe(FRAME_HEAD_BYTES);
      part[this.#partBytes++] = this.#piece[this.#at++] as number;
    }
    const whole = FRAME_HEAD_BYTES + this.#lengthAt(part, 0);
    const taken = Math.min(whole - this.#partBytes, this.#piece.length - this.#at);
    part = this.#withRoom(part, this.#partBytes + taken, whole);
    this.#piece.copy(part, this.#partBytes, this.#at, this.#at + taken);
    this.#partBytes += taken;
    this.#at += taken;
    this.#part = part;
    if (this.#partBytes < whole) return undefined;
    this.#compressed = part[0] !== 0;
    this.#own = part;
    this.#part = undefined;
    if (part.length === BLOCK_BYTES) this.#blocks.offer(part);
    return part.subarray(FRAME_HEAD_BYTES, whole);
  }

  /** Grows by what has come, so that what is only announced takes no memory. */
  #withRoom(part: Buffer, needed: number, whole: number): Buffer {
    if (needed <= part.length) return part;
    const larger = this.#memoryOf(needed, whole);
    part.copy(larger, 0, 0, this.#partBytes);
    this.#free(part);
    return larger;
  }

  #memoryOf(needed: number, whole: number): Buffer {
    if (whole <= SMALL_BYTES_MAX) return Buffer.allocUnsafeSlow(whole);
    if (needed <= BLOCK_BYTES) return this.#blocks.take();
    return Buffer.allocUnsafeSlow(Math.min(whole, Math.max(2 * BLOCK_BYTES, 4 * needed)));
  }

  #free(memory: Buffer): void {
    if (memory.length === BLOCK_BYTES) this.#blocks.give(memory);
    else if (memory.length > SMALL_BYTES_MAX) freeMemory(memory);
  }

  #leave(memory: Buffer): void {
    if (memory.length === BLOCK_BYTES) this.#blocks.leave();
  }

  #lengthAt(bytes: Buffer, at: number): number {
    const length = bytes.readUInt32BE(at + 1);
    if (length <= this.#messageBytesMax) return length;
    throw new FramingError(
      GRPC.resourceExhausted,
      `Received message larger than max (${length} vs. ${this.#messageBytesMax})`,
    );
  }
}
