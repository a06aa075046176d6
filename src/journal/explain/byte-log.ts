const BYTES_FIRST = 64 * 1024;
/** The offset and prime of FNV-1a. */
const HASH_START = 0x811c_9dc5;
const HASH_PRIME = 0x0100_0193;
/** A client may send an id as long as it likes; what goes beyond this is cut, here and where it is looked up. */
export const TEXT_MAX = 160;

/** Bytes written one after another, little end first. `reserve` before a group of them; the rest does not look. */
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

  /** Of one-byte characters, others as `?`; at most `TEXT_MAX` of them and a byte to be reserved. Gives its hash. */
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

  /** All that was written, in memory of its own; then begins anew. */
  take(): Uint8Array {
    const taken = this.#bytes.slice(0, this.#at);
    this.#at = 0;
    return taken;
  }

  /** A look at what was written so far. */
  peek(): Uint8Array {
    return this.#bytes.subarray(0, this.#at);
  }
}

/** As `ByteLog` would keep it. */
export function keptText(text: string): string {
  const kept = Array.from({ length: Math.min(text.length, TEXT_MAX) }, (_, index) =>
    String.fromCharCode(byteAt(text, index)),
  );
  return kept.join('');
}

export function hashOf(text: string): number {
  let hash = HASH_START;
  for (let index = 0; index < Math.min(text.length, TEXT_MAX); index++) {
    hash = Math.imul(hash ^ byteAt(text, index), HASH_PRIME);
  }
  return hash >>> 0;
}

function byteAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code > 0xff ? 0x3f : code;
}
