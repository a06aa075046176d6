import { fieldBytes, writeFieldHead } from './wire-writer.ts';

/** A message that writes itself where it is sent from: it is copied only once in all. */
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
const END_OF_STREAM_KEY = (2 << 3) | 0;
const END_OF_STREAM_BYTES = 2;

/** A body chunk as a StreamedBodyResponse. Keeps views of the chunk until they are copied. */
export class EchoMessage implements WireMessage {
  readonly byteLength: number;
  readonly pieces: readonly Uint8Array[];
  readonly bodyBytes: number;
  readonly #field: number;
  readonly #endOfStream: boolean;
  readonly #streamedBytes: number;

  /** `field`: number of the response in ProcessingResponse. */
  constructor(
    field: number,
    chunk: { readonly pieces: readonly Uint8Array[]; readonly endOfStream: boolean },
  ) {
    this.#field = field;
    this.pieces = chunk.pieces;
    this.#endOfStream = chunk.endOfStream;
    let bodyBytes = 0;
    for (const piece of this.pieces) bodyBytes += piece.length;
    this.bodyBytes = bodyBytes;
    const contentBytes = bodyBytes > 0 ? fieldBytes(bodyBytes) : 0;
    this.#streamedBytes = contentBytes + (this.#endOfStream ? END_OF_STREAM_BYTES : 0);
    this.byteLength = fieldBytes(fieldBytes(fieldBytes(fieldBytes(this.#streamedBytes))));
  }

  /** Writes the message at `targetStart` and returns its size. */
  copy(target: Buffer, targetStart: number): number {
    let at = this.copyHead(target, targetStart);
    for (const piece of this.pieces) {
      target.set(piece, at);
      at += piece.length;
    }
    return at - targetStart;
  }

  /**
   * Writes what is before the body, which is the last field, and returns where the body belongs.
   */
  copyHead(target: Buffer, targetStart: number): number {
    const mutation = fieldBytes(this.#streamedBytes);
    const common = fieldBytes(mutation);
    let at = writeFieldHead(target, targetStart, this.#field, fieldBytes(common));
    at = writeFieldHead(target, at, COMMON_RESPONSE, common);
    at = writeFieldHead(target, at, BODY_MUTATION, mutation);
    at = writeFieldHead(target, at, STREAMED_RESPONSE, this.#streamedBytes);
    if (this.#endOfStream) {
      target[at++] = END_OF_STREAM_KEY;
      target[at++] = 1;
    }
    return this.bodyBytes > 0 ? writeFieldHead(target, at, BODY, this.bodyBytes) : at;
  }
}
