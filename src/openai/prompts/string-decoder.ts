import { decodeRaw, RAW_BYTES, raw } from '../kernel/byte-kernel.ts';

const BACKSLASH = 0x5c;
const NOTHING = new Uint8Array(0);

/** Decodes the raw pieces of a valid JSON string to UTF-8, wherever pieces are cut. */
export class StringDecoder {
  readonly #write: (text: Uint8Array) => void;
  /** An escape whose end has not come yet: of two characters at most, in 11 bytes. */
  #begun: Uint8Array = NOTHING;

  /** What `write` gets is valid only during the call. */
  constructor(write: (text: Uint8Array) => void) {
    this.#write = write;
  }

  push(piece: Uint8Array, last: boolean): void {
    if (this.#begun.length === 0 && !piece.includes(BACKSLASH)) {
      if (piece.length > 0) this.#write(piece);
      return;
    }
    let from = 0;
    do {
      const begun = this.#begun;
      const part = piece.subarray(from, from + RAW_BYTES - begun.length);
      raw.set(begun);
      raw.set(part, begun.length);
      from += part.length;
      const end = begun.length + part.length;
      const { text, stoppedAt } = decodeRaw(end, last && from === piece.length);
      this.#begun = stoppedAt === end ? NOTHING : raw.slice(stoppedAt, end);
      if (text.length > 0) this.#write(text);
    } while (from < piece.length);
  }
}
