import type { TextBuffer } from './text-buffer.ts';

const [QUOTE, COMMA, COLON] = [0x22, 0x2c, 0x3a];

/** Characters that Go's encoder escapes, with what it writes for them. */
const ESCAPED: readonly (Uint8Array | undefined)[] = Array.from({ length: 128 }, (_, code) => {
  if (code >= 0x20 && !'"\\<>&'.includes(String.fromCharCode(code))) return undefined;
  const short = '"\\\b\f\n\r\t'.includes(String.fromCharCode(code));
  const long = `\\u${code.toString(16).padStart(4, '0')}`;
  return Buffer.from(short ? JSON.stringify(String.fromCharCode(code)).slice(1, -1) : long);
});

/** The line and paragraph separators begin so in UTF-8. Go escapes both, as JavaScript needed it. */
const SEPARATOR = Buffer.of(0xe2, 0x80);
const [LINE, PARAGRAPH] = [0xa8, 0xa9];

/** Writes a value as Go's encoder does, except for the order of an object's fields. */
export class GoJson {
  readonly #buffer: TextBuffer;
  #needsComma = false;
  #stringFrom = 0;

  constructor(buffer: TextBuffer) {
    this.#buffer = buffer;
  }

  begin(bracket: number): void {
    this.#comma();
    this.#buffer.pushByte(bracket);
    this.#needsComma = false;
  }

  end(bracket: number): void {
    this.#buffer.pushByte(bracket);
    this.#needsComma = true;
  }

  key(name: string): void {
    this.beginString();
    this.text(Buffer.from(name));
    this.endString();
    this.#buffer.pushByte(COLON);
    this.#needsComma = false;
  }

  beginString(): void {
    this.#comma();
    this.#buffer.pushByte(QUOTE);
    this.#stringFrom = this.#buffer.length;
  }

  /** A piece of a string, decoded. */
  text(piece: Uint8Array): void {
    let from = 0;
    for (let at = 0; at < piece.length; at++) {
      const escaped = ESCAPED[piece[at] as number];
      if (escaped === undefined) continue;
      if (at > from) this.#buffer.push(piece.subarray(from, at));
      this.#buffer.push(escaped);
      from = at + 1;
    }
    if (from < piece.length) this.#buffer.push(piece.subarray(from));
  }

  endString(): void {
    this.#escapeSeparators();
    this.#buffer.pushByte(QUOTE);
    this.#needsComma = true;
  }

  /** A number, `true`, `false` or `null`. */
  scalar(text: string): void {
    this.#comma();
    this.#buffer.push(Buffer.from(text));
    this.#needsComma = true;
  }

  /** Looks at the whole string, as pieces may be cut within a character. */
  #escapeSeparators(): void {
    const { buffer, byteOffset, byteLength } = this.#buffer.text.subarray(this.#stringFrom);
    const view = Buffer.from(buffer, byteOffset, byteLength);
    let found = view.indexOf(SEPARATOR);
    if (found < 0) return;
    const text = Buffer.from(view);
    this.#buffer.cut(this.#stringFrom);
    let from = 0;
    for (; found >= 0; found = text.indexOf(SEPARATOR, found + 1)) {
      const last = text[found + 2];
      if (last !== LINE && last !== PARAGRAPH) continue;
      this.#buffer.push(text.subarray(from, found));
      this.#buffer.push(Buffer.from(last === LINE ? '\\u2028' : '\\u2029'));
      from = found + 3;
    }
    this.#buffer.push(text.subarray(from));
  }

  #comma(): void {
    if (this.#needsComma) this.#buffer.pushByte(COMMA);
    this.#needsComma = false;
  }
}
