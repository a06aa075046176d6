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

/** Before each message: whether it is compressed, and its length. */
export const FRAME_HEAD_BYTES = 5;
const NO_BYTES: Buffer = Buffer.alloc(0);
/** The first room for a message that comes in parts: a peer may announce more than it sends. */
const FIRST_ROOM_BYTES = 16 * 1024;

/**
 * Cuts the bytes of a stream into messages. A message that came in one piece is a view of that
 * piece; another one has memory of its own, of exactly its size.
 */
export class MessageReader {
  readonly #messageBytesMax: number;
  #piece = NO_BYTES;
  #at = 0;
  /** Head and message as far as they have come, if they do not come in one piece. */
  #part: Buffer | undefined;
  #partBytes = 0;
  /** Whether the message that `next` has returned last was compressed. */
  #compressed = false;
  #owned = false;

  constructor(messageBytesMax: number) {
    this.#messageBytesMax = messageBytesMax;
  }

  get compressed(): boolean {
    return this.#compressed;
  }

  /** Whether its memory is its own, without its head's bytes. */
  get owned(): boolean {
    return this.#owned;
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
        this.#owned = false;
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
    this.#owned = true;
    this.#part = undefined;
    return part.subarray(FRAME_HEAD_BYTES, whole);
  }

  /** Grows by what has come, so that what is only announced takes no memory. */
  #withRoom(part: Buffer, needed: number, whole: number): Buffer {
    if (needed <= part.length) return part;
    const room = Math.min(whole, Math.max(FIRST_ROOM_BYTES, 4 * needed));
    const larger = Buffer.allocUnsafeSlow(room);
    part.copy(larger, 0, 0, this.#partBytes);
    return larger;
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
