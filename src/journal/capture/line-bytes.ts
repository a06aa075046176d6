const BYTES_AT_FIRST = 128 * 1024;
/** Bounds of the cache of recurring texts, such as models: clients choose some of them. */
const KNOWN_MAX = 10_000;
const KNOWN_CHARACTERS_MAX = 256;

const [POINT, QUOTE, BACKSLASH] = [0x2e, 0x22, 0x5c];
const [ASCII_FIRST, ASCII_LAST] = [0x20, 0x7e];
/** Up to this many bytes are copied faster one by one. */
const SHORT = 16;
const INT_MAX = 0x7fff_ffff;
const DIGITS_MAX = 32;

const encoder = new TextEncoder();

/** The three digits of each number below a thousand, four bytes apart. */
const DIGITS = new Uint8Array(4000);
for (let number = 0; number < 1000; number++) {
  DIGITS.set(encoder.encode(String(number).padStart(3, '0')), 4 * number);
}

/** For texts that are written often: their UTF-8, made once. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Gathers JSON as bytes: a string for each value would double the cost and leave garbage. */
export class LineBytes {
  #bytes = new Uint8Array(BYTES_AT_FIRST);
  #end = 0;
  readonly #known = new Map<string, Uint8Array>();

  get length(): number {
    return this.#end;
  }

  /** All bytes since the last call, valid until the next write. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#end);
    this.#end = 0;
    return taken;
  }

  raw(bytes: Uint8Array): void {
    const { length } = bytes;
    this.#reserve(length);
    const at = this.#end;
    if (length > SHORT) this.#bytes.set(bytes, at);
    else
      for (let index = 0; index < length; index++) this.#bytes[at + index] = bytes[index] as number;
    this.#end = at + length;
  }

  /** A JSON number; null where JSON has none for the value. */
  number(value: number): void {
    if ((value | 0) === value && value >= 0) {
      this.#reserve(DIGITS_MAX);
      this.#integer(value);
    } else this.#ascii(Number.isFinite(value) ? String(value) : 'null');
  }

  /** A number that reads back as the very same value, -0 and infinities included; not for NaN. */
  exact(value: number): void {
    if (Object.is(value, -0)) this.#ascii('-0');
    else if (Number.isFinite(value)) this.number(value);
    else this.#ascii(value < 0 ? '-1e999' : '1e999');
  }

  /** Milliseconds. Whole microseconds, the usual case, skip the search for the shortest decimal. */
  time(ms: number): void {
    const micros = Math.round(ms * 1000);
    const seconds = Math.floor(micros / 1_000_000);
    if (micros / 1000 !== ms || seconds < 1 || seconds > INT_MAX) {
      this.number(ms);
      return;
    }
    this.#reserve(DIGITS_MAX);
    this.#integer(seconds);
    const rest = micros - 1_000_000 * seconds;
    const millis = (rest / 1000) | 0;
    this.#three(millis);
    if (rest === 1000 * millis) return;
    this.#bytes[this.#end++] = POINT;
    this.#three(rest - 1000 * millis);
  }

  /** A JSON string that seldom recurs. */
  text(value: string): void {
    const { length } = value;
    this.#reserve(length + 2);
    const bytes = this.#bytes;
    let at = this.#end;
    bytes[at++] = QUOTE;
    for (let index = 0; index < length; index++) {
      const code = value.charCodeAt(index);
      const plain = code >= ASCII_FIRST && code <= ASCII_LAST;
      if (!plain || code === QUOTE || code === BACKSLASH) {
        this.json(value);
        return;
      }
      bytes[at++] = code;
    }
    bytes[at++] = QUOTE;
    this.#end = at;
  }

  /** A JSON string out of a small set of values. */
  known(value: string): void {
    const found = this.#known.get(value);
    if (found !== undefined) {
      this.raw(found);
      return;
    }
    const made = utf8(JSON.stringify(value));
    this.raw(made);
    if (value.length > KNOWN_CHARACTERS_MAX) return;
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.set(value, made);
  }

  json(value: unknown): void {
    this.raw(utf8(JSON.stringify(value)));
  }

  /** `key`, and a text that may recur. */
  textField(key: Uint8Array, value: string): void {
    this.raw(key);
    this.known(value);
  }

  /** Writes nothing where there is no number. */
  numberField(key: Uint8Array, value: number | undefined): void {
    if (value === undefined) return;
    this.raw(key);
    this.number(value);
  }

  /** Writes nothing where there is no object. */
  jsonField(key: Uint8Array, value: object | undefined): void {
    if (value === undefined) return;
    this.raw(key);
    this.json(value);
  }

  #ascii(text: string): void {
    this.#reserve(text.length);
    for (let index = 0; index < text.length; index++) {
      this.#bytes[this.#end++] = text.charCodeAt(index);
    }
  }

  /** Writes a value from 0 to 2^31 - 1. */
  #integer(value: number): void {
    if (value < 1000) {
      this.#small(value);
      return;
    }
    const thousands = (value / 1000) | 0;
    if (thousands < 1000) this.#small(thousands);
    else {
      const millions = (thousands / 1000) | 0;
      if (millions < 1000) this.#small(millions);
      else {
        this.#small((millions / 1000) | 0);
        this.#three(millions % 1000);
      }
      this.#three(thousands % 1000);
    }
    this.#three(value % 1000);
  }

  #small(value: number): void {
    if (value >= 100) {
      this.#three(value);
      return;
    }
    if (value >= 10) this.#bytes[this.#end++] = DIGITS[4 * value + 1] as number;
    this.#bytes[this.#end++] = DIGITS[4 * value + 2] as number;
  }

  #three(value: number): void {
    const bytes = this.#bytes;
    const at = this.#end;
    bytes[at] = DIGITS[4 * value] as number;
    bytes[at + 1] = DIGITS[4 * value + 1] as number;
    bytes[at + 2] = DIGITS[4 * value + 2] as number;
    this.#end = at + 3;
  }

  #reserve(count: number): void {
    if (this.#end + count <= this.#bytes.length) return;
    const grown = new Uint8Array(2 * (this.#end + count));
    grown.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = grown;
  }
}
