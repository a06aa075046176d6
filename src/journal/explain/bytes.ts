const BYTES_FIRST = 64 * 1024;
/** The offset and prime of FNV-1a. */
const HASH_START = 0x811c_9dc5;
const HASH_PRIME = 0x0100_0193;
/** Texts are cut after this many characters: a client may send an id of any length. */
export const TEXT_MAX = 160;
/** In place of a length: a packed UUID in lower case, as Envoy's ids of requests are. */
const UUID_MARK = 255;
const UUID_LENGTH = 36;
const UUID_DIGITS = 32;
const DASH = 0x2d;
const DASHES = [8, 13, 18, 23];
const ZERO = 0x30;
const NINE = 0x39;
/** The code of `a` minus ten. */
const TEN = 0x57;

/** Bytes, little-endian. Call `reserve` before a group of writes: they do not check for room. */
export class ByteLog {
  #bytes = new Uint8Array(BYTES_FIRST);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;

  get length(): number {
    return this.#at;
  }

  reserve(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#bytes.length) return;
    const longer = new Uint8Array(2 * needed);
    longer.set(this.#bytes);
    this.#bytes = longer;
    this.#view = new DataView(longer.buffer);
  }

  u8(value: number): void {
    this.#bytes[this.#at++] = value;
  }

  u16(value: number): void {
    this.#view.setUint16(this.#at, value, true);
    this.#at += 2;
  }

  f32(value: number): void {
    this.#view.setFloat32(this.#at, value, true);
    this.#at += 4;
  }

  f64(value: number): void {
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  /**
   * Writes the characters from `from` on, one byte each, those beyond Latin-1 as `?`: at most
   * `TEXT_MAX` characters and one byte more. A UUID takes half of that. Returns the hash of the
   * whole text.
   */
  text(text: string, from = 0): number {
    if (from === 0 && looksLikeUuid(text)) {
      const uuidHash = this.#uuid(text);
      if (uuidHash >= 0) return uuidHash;
    }
    const length = Math.min(text.length, TEXT_MAX);
    const bytes = this.#bytes;
    bytes[this.#at++] = length - from;
    let hash = HASH_START;
    for (let index = 0; index < length; index++) {
      const byte = byteAt(text, index);
      hash = Math.imul(hash ^ byte, HASH_PRIME);
      if (index >= from) bytes[this.#at++] = byte;
    }
    return hash >>> 0;
  }

  /** Writes nothing and returns -1 where some character is no hexadecimal digit in lower case. */
  #uuid(text: string): number {
    const bytes = this.#bytes;
    let at = this.#at;
    bytes[at] = UUID_MARK;
    let hash = HASH_START;
    let allDigits = 0;
    let digits = 0;
    for (let index = 0; index < UUID_LENGTH; index++) {
      const code = text.charCodeAt(index);
      hash = Math.imul(hash ^ code, HASH_PRIME);
      if (code === DASH) continue;
      const digit = code - (code <= NINE ? ZERO : TEN);
      allDigits |= digit;
      if ((digits++ & 1) === 0) bytes[++at] = digit << 4;
      else bytes[at] = (bytes[at] as number) | digit;
    }
    if ((allDigits & ~0xf) !== 0 || digits !== UUID_DIGITS) return -1;
    this.#at = at + 1;
    return hash >>> 0;
  }

  /** Returns a copy of all that was written, then starts again. */
  take(): Uint8Array {
    const taken = this.#bytes.slice(0, this.#at);
    this.#at = 0;
    return taken;
  }

  /** A view of what was written so far, valid until more is written. */
  peek(): Uint8Array {
    return this.#bytes.subarray(0, this.#at);
  }
}

/** Reads what a `ByteLog` has written, in order. Throws RangeError beyond the end. */
export class RecordReader {
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  u8(): number {
    return this.#view.getUint8(this.#at++);
  }

  u16(): number {
    this.#at += 2;
    return this.#view.getUint16(this.#at - 2, true);
  }

  f32(): number {
    this.#at += 4;
    return this.#view.getFloat32(this.#at - 4, true);
  }

  f64(): number {
    this.#at += 8;
    return this.#view.getFloat64(this.#at - 8, true);
  }

  text(): string {
    const length = this.u8();
    if (length === UUID_MARK) return this.#uuid();
    let text = '';
    for (let index = 0; index < length; index++) text += String.fromCharCode(this.u8());
    return text;
  }

  #uuid(): string {
    const hex = Array.from({ length: 16 }, () => this.u8().toString(16).padStart(2, '0')).join('');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }
}

function looksLikeUuid(text: string): boolean {
  if (text.length !== UUID_LENGTH) return false;
  for (const dash of DASHES) if (text.charCodeAt(dash) !== DASH) return false;
  return true;
}

function byteAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code > 0xff ? 0x3f : code;
}
