const BACKSLASH = 0x5c;
const NOTHING = new Uint8Array(0);
/** `\uD83D\uDE00`: the longest escape of one character. */
const PAIR_BYTES = 12;
const ESCAPE_BYTES = 6;

/** The character that an escape of two bytes stands for, by its second; 0 for `u`. */
const PLAIN = new Uint8Array(256);
for (const [escaped, character] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t']) {
  PLAIN[escaped?.charCodeAt(0) ?? 0] = character?.charCodeAt(0) ?? 0;
}

/**
 * A piece, and what is decoded of it, which is no longer. Both are used in one synchronous call. The
 * piece is copied, because bytes of compiled code's memory are read more slowly, one by one.
 */
let scratch = { raw: new Uint8Array(16_384), decoded: new Uint8Array(16_384) };

/** Decodes the raw pieces of a valid JSON string to UTF-8, wherever pieces are cut. */
export class StringDecoder {
  readonly #write: (text: Uint8Array) => void;
  /** An escape whose end has not come yet. */
  #begun: Uint8Array = NOTHING;

  /** What `write` gets is valid only during the call. */
  constructor(write: (text: Uint8Array) => void) {
    this.#write = write;
  }

  push(piece: Uint8Array, last: boolean): void {
    const begun = this.#begun;
    if (begun.length === 0 && !piece.includes(BACKSLASH)) {
      if (piece.length > 0) this.#write(piece);
      return;
    }
    const { raw, decoded } = scratchFor(begun.length + piece.length);
    raw.set(begun);
    raw.set(piece, begun.length);
    this.#begun = NOTHING;
    const text = raw.subarray(0, begun.length + piece.length);
    let length = 0;
    let at = 0;
    while (at < text.length) {
      const byte = text[at] as number;
      if (byte !== BACKSLASH) {
        decoded[length++] = byte;
        at += 1;
        continue;
      }
      const plain = PLAIN[text[at + 1] ?? 0] as number;
      if (plain > 0) {
        decoded[length++] = plain;
        at += 2;
        continue;
      }
      const bytes = escapeBytes(text, at, last);
      if (bytes === 0) {
        this.#begun = text.slice(at);
        break;
      }
      const character = Buffer.from(characterAt(text, at, bytes));
      decoded.set(character, length);
      length += character.length;
      at += bytes;
    }
    if (length > 0) this.#write(decoded.subarray(0, length));
  }
}

function scratchFor(bytes: number): typeof scratch {
  if (bytes > scratch.raw.length) {
    scratch = { raw: new Uint8Array(2 * bytes), decoded: new Uint8Array(2 * bytes) };
  }
  return scratch;
}

/** The length of the escape `\u…`; 0 where more of the string must come first. */
function escapeBytes(text: Uint8Array, at: number, last: boolean): number {
  const given = text.length - at;
  if (given < ESCAPE_BYTES) return 0;
  const code = codeAt(text, at);
  if (code < 0xd800 || code >= 0xdc00) return ESCAPE_BYTES;
  if (given < PAIR_BYTES) return last ? ESCAPE_BYTES : 0;
  const next = codeAt(text, at + ESCAPE_BYTES);
  return next >= 0xdc00 && next < 0xe000 ? PAIR_BYTES : ESCAPE_BYTES;
}

/** A half of a pair becomes the replacement character when it is written, as in Go. */
function characterAt(text: Uint8Array, at: number, bytes: number): string {
  const code = codeAt(text, at);
  return bytes === PAIR_BYTES
    ? String.fromCharCode(code, codeAt(text, at + ESCAPE_BYTES))
    : String.fromCharCode(code);
}

/** The code unit of `\uXXXX` at this place; -1 for anything else. */
function codeAt(text: Uint8Array, at: number): number {
  if (text[at] !== BACKSLASH || text[at + 1] !== 0x75) return -1;
  let code = 0;
  for (let digit = at + 2; digit < at + ESCAPE_BYTES; digit++) {
    code = 16 * code + hexValue(text[digit] as number);
  }
  return code;
}

function hexValue(digit: number): number {
  return digit < 0x3a ? digit - 0x30 : (digit | 0x20) - 0x57;
}
