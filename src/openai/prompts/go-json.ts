import type { TextBuffer } from './text-buffer.ts';

const [QUOTE, COMMA, COLON] = [0x22, 0x2c, 0x3a];

/** Characters that Go's encoder escapes, with what it writes for them. */
const ESCAPED: readonly (Uint8Array | undefined)[] = Array.from({ length: 128 }, (_, code) => {
  if (code >= 0x20 && !'"\\<>&'.includes(String.fromCharCode(code))) return undefined;
  const short = '"\\\b\f\n\r\t'.includes(String.fromCharCode(code));
  const long = `\\u${code.toString(16).padStart(4, '0')}`;
  return Buffer.from(short ? JSON.stringify(String.fromCharCode(code)).slice(1, -1) : long);
});

/** Writes a value as Go's encoder does, except for the order of an object's fields. */
export class GoJson {
  readonly #buffer: TextBuffer;
  #needsComma = false;

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
    this.#buffer.pushByte(QUOTE);
    this.#needsComma = true;
  }

  /** A number, `true`, `false` or `null`. */
  scalar(text: string): void {
    this.#comma();
    this.#buffer.push(Buffer.from(text));
    this.#needsComma = true;
  }

  #comma(): void {
    if (this.#needsComma) this.#buffer.pushByte(COMMA);
    this.#needsComma = false;
  }
}
