const BYTES_FIRST = 64 * 1024;
/** The offset and prime of FNV-1a. */
const HASH_START = 0x811c_9dc5;
const HASH_PRIME = 0x0100_0193;
/** Texts are cut after this many characters: a client may send an id of any length. */
export const TEXT_MAX = 160;

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

  /** One byte a character, others as `?`; at most `TEXT_MAX` characters and one byte. Returns the text's hash. */
  text(text: string): number {
    const length = Math.min(text.length, TEXT_MAX);
    const bytes = this.#bytes;
    bytes[this.#at++] = length;
    let hash = HASH_START;
    for (let index = 0; index < length; index++) {
      const byte = byteAt(text, index);
      bytes[this.#at++] = byte;
      hash = Math.imul(hash ^ byte, HASH_PRIME);
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
    let text = '';
    for (let index = 0; index < length; index++) text += String.fromCharCode(this.u8());
    return text;
  }
}

function byteAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code > 0xff ? 0x3f : code;
}
