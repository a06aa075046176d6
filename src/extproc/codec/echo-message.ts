import type { WireMessage } from './wire-message.ts';
import { fieldBytes, writeFieldHead } from './wire-writer.ts';

/** Numbers of the fields around an echoed body: CommonResponse, BodyMutation, StreamedBodyResponse, its bytes. */
const COMMON = 1;
const MUTATION = 3;
const STREAMED = 3;
const BODY = 1;
const END_OF_STREAM_TRUE: readonly [number, number] = [(2 << 3) | 0, 1];

/** A body chunk going back as a StreamedBodyResponse. Holds views of the bytes until they are copied to where they leave from. */
export class EchoMessage implements WireMessage {
  readonly byteLength: number;
  readonly #field: number;
  readonly #pieces: readonly Uint8Array[];
  readonly #endOfStream: boolean;
  readonly #bodyBytes: number;

  constructor(
    field: number,
    {
      pieces,
      endOfStream,
    }: { readonly pieces: readonly Uint8Array[]; readonly endOfStream: boolean },
  ) {
    this.#field = field;
    this.#pieces = pieces;
    this.#endOfStream = endOfStream;
    this.#bodyBytes = pieces.reduce((bytes, piece) => bytes + piece.length, 0);
    this.byteLength = fieldBytes(this.#lengths().body);
  }

  /** Writes the message at `targetStart` and returns its size. */
  copy(target: Buffer, targetStart: number): number {
    const { streamed, mutation, common, body } = this.#lengths();
    let at = writeFieldHead(target, targetStart, { field: this.#field, contentBytes: body });
    at = writeFieldHead(target, at, { field: COMMON, contentBytes: common });
    at = writeFieldHead(target, at, { field: MUTATION, contentBytes: mutation });
    at = writeFieldHead(target, at, { field: STREAMED, contentBytes: streamed });
    if (this.#bodyBytes > 0) {
      at = writeFieldHead(target, at, { field: BODY, contentBytes: this.#bodyBytes });
      for (const piece of this.#pieces) {
        target.set(piece, at);
        at += piece.length;
      }
    }
    if (this.#endOfStream) target.set(END_OF_STREAM_TRUE, at);
    return this.byteLength;
  }

  /** Of the contents, from the innermost out. */
  #lengths(): {
    readonly streamed: number;
    readonly mutation: number;
    readonly common: number;
    readonly body: number;
  } {
    const bytes = this.#bodyBytes > 0 ? fieldBytes(this.#bodyBytes) : 0;
    const streamed = bytes + (this.#endOfStream ? END_OF_STREAM_TRUE.length : 0);
    const mutation = fieldBytes(streamed);
    const common = fieldBytes(mutation);
    return { streamed, mutation, common, body: fieldBytes(common) };
  }
}
