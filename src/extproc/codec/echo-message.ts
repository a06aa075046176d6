import { fieldBytes, writeFieldHead } from './wire-writer.ts';

/**
 * The part of Buffer's interface by which grpc-js copies a message behind its frame's five bytes. A
 * message that writes itself there is copied only once in all.
 */
export interface WireMessage {
  readonly byteLength: number;
  copy(target: Buffer, targetStart: number): number;
}

// Numbers of the fields around an echoed body.
const COMMON_RESPONSE = 1;
const BODY_MUTATION = 3;
const STREAMED_RESPONSE = 3;
const BODY = 1;
/** `end_of_stream: true`: key and value of field 2. */
const END_OF_STREAM: readonly [key: number, value: number] = [(2 << 3) | 0, 1];

/** A body chunk as a StreamedBodyResponse. Keeps views of the chunk until they are copied. */
export class EchoMessage implements WireMessage {
  readonly byteLength: number;
  readonly #field: number;
  readonly #pieces: readonly Uint8Array[];
  readonly #endOfStream: boolean;
  readonly #bodyBytes: number;
  readonly #streamedBytes: number;

  /** `field`: number of the response in ProcessingResponse. */
  constructor(
    field: number,
    chunk: { readonly pieces: readonly Uint8Array[]; readonly endOfStream: boolean },
  ) {
    this.#field = field;
    this.#pieces = chunk.pieces;
    this.#endOfStream = chunk.endOfStream;
    this.#bodyBytes = this.#pieces.reduce((bytes, piece) => bytes + piece.length, 0);
    const contentBytes = this.#bodyBytes > 0 ? fieldBytes(this.#bodyBytes) : 0;
    this.#streamedBytes = contentBytes + (this.#endOfStream ? END_OF_STREAM.length : 0);
    this.byteLength = fieldBytes(fieldBytes(fieldBytes(fieldBytes(this.#streamedBytes))));
  }

  /** Writes the message at `targetStart` and returns its size. */
  copy(target: Buffer, targetStart: number): number {
    const mutation = fieldBytes(this.#streamedBytes);
    const common = fieldBytes(mutation);
    let at = writeFieldHead(target, targetStart, this.#field, fieldBytes(common));
    at = writeFieldHead(target, at, COMMON_RESPONSE, common);
    at = writeFieldHead(target, at, BODY_MUTATION, mutation);
    at = writeFieldHead(target, at, STREAMED_RESPONSE, this.#streamedBytes);
    if (this.#bodyBytes > 0) {
      at = writeFieldHead(target, at, BODY, this.#bodyBytes);
      for (const piece of this.#pieces) {
        target.set(piece, at);
        at += piece.length;
      }
    }
    if (this.#endOfStream) target.set(END_OF_STREAM, at);
    return this.byteLength;
  }
}
