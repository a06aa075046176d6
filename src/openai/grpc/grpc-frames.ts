/**
 * The bytes before each gRPC message: whether it is compressed (one byte), and its length (four).
 */
export const FRAME_HEAD_BYTES = 5;

/** Gets the messages of a gRPC body. */
export interface FrameHandler {
  /** `start`: the message's offset in the body. What it throws ends the reading. */
  begin(length: number, start: number, compressed: boolean): void;
  /** A part of the message, never empty. */
  part(piece: Uint8Array): void;
  end(): void;
}

/** Cuts a gRPC body into messages while its chunks arrive. */
export class GrpcFrames {
  readonly #handler: FrameHandler;
  #headBytes = 0;
  #compressed = false;
  #length = 0;
  #left = 0;
  #offset = 0;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  /** Whether the last message is complete; also before the first. */
  get complete(): boolean {
    return this.#headBytes === 0;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#headBytes < FRAME_HEAD_BYTES) {
        this.#head(chunk[at] as number);
        at += 1;
        if (this.#headBytes === FRAME_HEAD_BYTES) this.#begin(this.#offset + at);
      } else {
        const piece = chunk.subarray(at, at + this.#left);
        at += piece.length;
        this.#left -= piece.length;
        this.#handler.part(piece);
        this.#endIfComplete();
      }
    }
    this.#offset += chunk.length;
  }

  #head(byte: number): void {
    if (this.#headBytes === 0) {
      this.#compressed = byte !== 0;
      this.#length = 0;
    } else this.#length = 256 * this.#length + byte;
    this.#headBytes += 1;
  }

  #begin(start: number): void {
    this.#left = this.#length;
    this.#handler.begin(this.#length, start, this.#compressed);
    this.#endIfComplete();
  }

  #endIfComplete(): void {
    if (this.#left > 0) return;
    this.#headBytes = 0;
    this.#handler.end();
  }
}
