import { invalidJson, type JsonHandler } from './json-text.ts';

const TOKEN_BYTES_MAX = 512;
/** Longer integers may not be exact as doubles and are passed on as `scalar`. */
export const INTEGER_DIGITS_MAX = 15;
const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** A number, `true`, `false` or `null`, byte by byte. */
export class JsonToken {
  #text = '';
  #integer = 0;
  #digits = 0;

  begin(): void {
    this.#text = '';
    this.#integer = 0;
    this.#digits = 0;
  }

  /** Returns what should have come in place of the byte; undefined where it may follow. */
  add(byte: number): string | undefined {
    const digit = byte - 0x30;
    // Plain integers need no text.
    if (this.#text === '' && digit >= 0 && digit <= 9 && this.#digits < INTEGER_DIGITS_MAX) {
      if (this.#digits === 1 && this.#integer === 0) return 'no digit after a leading 0';
      this.#integer = 10 * this.#integer + digit;
      this.#digits += 1;
      return undefined;
    }
    if (this.#text === '' && this.#digits > 0) this.#text = String(this.#integer);
    this.#text += String.fromCharCode(byte);
    return this.#text.length > TOKEN_BYTES_MAX ? 'a shorter number' : undefined;
  }

  /** Passes the value on. `end` is the offset behind it. */
  passTo(handler: JsonHandler, end: number): void {
    if (this.#text === '') handler.integer(this.#integer, end);
    else if (SCALAR.test(this.#text)) handler.scalar(this.#text, end);
    else {
      const token = JSON.stringify(this.#text.slice(0, 32));
      throw invalidJson(`${token} before byte ${end} is not a value`);
    }
  }
}
