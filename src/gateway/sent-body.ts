import { EventEmitter } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import { PackedPieces } from '../runtime/network/pieces/packed-pieces.ts';

/** The bytes that all requests together may still keep for another endpoint. */
export interface KeptBytes {
  left: number;
}

/**
 * The body of a request as the picker returned it. What has been sent is kept, within bounds, as
 * long as another endpoint may need it. Emits `drain` when more may be written.
 */
export class SentBody extends EventEmitter {
  readonly #bytesMax: number;
  readonly #all: KeptBytes;
  readonly #kept = new PackedPieces();
  #isKept = true;
  #ended = false;
  #stream = this.#begin();

  constructor({ bytesMax, all }: { readonly bytesMax: number; readonly all: KeptBytes }) {
    super();
    this.#bytesMax = bytesMax;
    this.#all = all;
  }

  /** What the present endpoint gets. */
  get stream(): Readable {
    return this.#stream;
  }

  /** Whether another endpoint could get all of it. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /**
   * Returns false where the endpoint takes no more for now. An endpoint that has stopped reading,
   * as after an early answer, does not hold back the picker: the call returns true.
   */
  write(piece: Buffer): boolean {
    this.#keep(piece);
    return this.#stream.destroyed || this.#stream.write(piece);
  }

  end(): void {
    this.#ended = true;
    this.#stream.end();
  }

  /** `stream` gives all of it to another endpoint. The one before gets nothing more. */
  restart(): void {
    this.#stream.destroy();
    this.#stream = this.#begin();
    const sent = this.#kept.take();
    this.#kept.add(sent);
    const hasRoom = this.#stream.write(sent);
    if (this.#ended) this.#stream.end();
    // The picker may be held back for the endpoint before.
    if (hasRoom) this.emit('drain');
  }

  /** No other endpoint will need it. */
  forget(): void {
    this.#isKept = false;
    this.#all.left += this.#kept.bytes;
    this.#kept.drop();
  }

  destroy(): void {
    this.forget();
    this.#stream.destroy();
  }

  #keep(piece: Buffer): void {
    if (!this.#isKept) return;
    const bytes = this.#kept.bytes + piece.length;
    if (bytes > this.#bytesMax || piece.length > this.#all.left) {
      this.forget();
      return;
    }
    this.#all.left -= piece.length;
    this.#kept.add(piece);
  }

  #begin(): PassThrough {
    const stream = new PassThrough();
    stream.on('error', () => undefined).on('drain', () => this.emit('drain'));
    stream.once('close', () => {
      if (stream === this.#stream) this.emit('drain');
    });
    return stream;
  }
}
