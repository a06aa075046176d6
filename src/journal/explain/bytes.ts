const BYTES_FIRST = 64 * 1024;
/** The offset and prime of FNV-1a. */
const HASH_START = 0x811c_9dc5;
const HASH_PRIME = 0x0100_0193;
/** Texts are cut after this many characters: a client may send an id of any length. */
export const TEXT_MAX = 160;
/** What Envoy gives requests as their id. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** In place of a length. */
const UUID_MARK = 255;
const DASH = 0x2d;
const DIGIT_NINE = 0x39;

/**
 * Bytes written one after another, little-endian. Call `reserve` before a group of writes: the other methods do not check
 * for room.
 */
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
   * Writes the characters from `from` on, one byte each, those beyond Latin-1 as `?`: at most `TEXT_MAX` characters and one
   * byte more. A UUID takes half of that. Returns the hash of the whole text.
   */
  text(text: string, from = 0): number {
    const length = Math.min(text.length, TEXT_MAX);
    const bytes = this.#bytes;
    const isUuid = from === 0 && UUID.test(text);
    bytes[this.#at++] = isUuid ? UUID_MARK : length - from;
    let hash = HASH_START;
    let digits = 0;
    for (let index = 0; index < length; index++) {
      const byte = byteAt(text, index);
      hash = Math.imul(hash ^ byte, HASH_PRIME);
      if (isUuid && byte !== DASH) {
        const digit = (byte & 15) + (byte > DIGIT_NINE ? 9 : 0);
        if ((digits++ & 1) === 0) bytes[this.#at] = digit << 4;
        else bytes[this.#at] = (bytes[this.#at++] as number) | digit;
      } else if (!isUuid && index >= from) bytes[this.#at++] = byte;
    }
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

/** Reads what a `ByteLog` has written, in the same order. Throws RangeError when it reads beyond the end. */
export class ByteReader {
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

function byteAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code > 0xff ? 0x3f : code;
}
