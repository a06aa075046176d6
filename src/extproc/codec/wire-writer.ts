const CAPACITY_MIN = 4096;

/** For longer texts Node's own encoder is faster. */
const SHORT_TEXT_CHARS = 48;

const UINT32_MAX = 0xffff_ffff;

const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;

/**
 * Writes a protobuf message from its last field to its first: a nested message's length is then
 * known when it is written, in one allocation. Field numbers must be below 16.
 */
export class WireWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(CAPACITY_MIN);
  #at: number = CAPACITY_MIN;

  /** Bytes written so far. Where a nested message ends: pass it to `message` afterwards. */
  get written(): number {
    return this.#bytes.length - this.#at;
  }

  /** Discards what was written, such as by an encoding that threw. */
  reset(): void {
    this.#at = this.#bytes.length;
  }

  text(field: number, text: string): void {
    const end = this.written;
    if (text.length > SHORT_TEXT_CHARS || !this.#shortAscii(text)) this.#encoded(text);
    this.message(field, end);
  }

  bytes(field: number, pieces: readonly Uint8Array[]): void {
    const end = this.written;
    for (const piece of pieces.toReversed()) {
      this.#need(piece.length);
      this.#at -= piece.length;
      this.#bytes.set(piece, this.#at);
    }
    this.message(field, end);
  }

  /** Bytes that are given as hexadecimal digits, two for each. */
  hex(field: number, digits: string): void {
    const end = this.written;
    const length = digits.length / 2;
    this.#need(length);
    this.#at -= length;
    this.#bytes.write(digits, this.#at, length, 'hex');
    this.message(field, end);
  }

  uint32(field: number, value: number): void {
    this.#varint(value);
    this.#byte((field << 3) | VARINT);
  }

  /** A whole number of either sign. */
  int64(field: number, value: number): void {
    if (value >= 0 && value <= UINT32_MAX) this.#varint(value);
    else this.#largeVarint(BigInt.asUintN(64, BigInt(value)));
    this.#byte((field << 3) | VARINT);
  }

  /** A whole number that is not negative; above 2^53 as exact as a number is. */
  fixed64(field: number, value: number): void {
    const high = Math.floor(value / 2 ** 32);
    this.#need(8);
    this.#at -= 8;
    this.#bytes.writeUInt32LE(value - high * 2 ** 32, this.#at);
    this.#bytes.writeUInt32LE(high, this.#at + 4);
    this.#byte((field << 3) | FIXED_64);
  }

  double(field: number, value: number): void {
    this.#need(8);
    this.#at -= 8;
    this.#bytes.writeDoubleLE(value, this.#at);
    this.#byte((field << 3) | FIXED_64);
  }

  /** Makes the bytes written since `end` the content of a length-delimited field. */
  message(field: number, end: number): void {
    this.#varint(this.written - end);
    this.#byte((field << 3) | BYTES);
  }

  /** Returns a copy of the message and resets the writer. */
  take(): Buffer {
    const message = Buffer.allocUnsafe(this.written);
    this.#bytes.copy(message, 0, this.#at);
    this.reset();
    return message;
  }

  /** Returns false and writes nothing if a character is not ASCII. */
  #shortAscii(text: string): boolean {
    this.#need(text.length);
    const start = this.#at - text.length;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) return false;
      this.#bytes[start + index] = code;
    }
    this.#at = start;
    return true;
  }

  #encoded(text: string): void {
    const length = Buffer.byteLength(text);
    this.#need(length);
    this.#at -= length;
    this.#bytes.write(text, this.#at, length, 'utf8');
  }

  #varint(value: number): void {
    if (value < 0x80) {
      this.#byte(value);
      return;
    }
    const length = varintBytes(value);
    this.#need(length);
    this.#at -= length;
    writeVarint(this.#bytes, this.#at, value);
  }

  #largeVarint(value: bigint): void {
    const bytes: number[] = [];
    for (let rest = value; rest > 0n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) & 0x7f;
    for (const byte of bytes.toReversed()) this.#byte(byte);
  }

  #byte(value: number): void {
    this.#need(1);
    this.#at -= 1;
    this.#bytes[this.#at] = value;
  }

  #need(count: number): void {
    if (count <= this.#at) return;
    const { written } = this;
    const grown = Buffer.allocUnsafeSlow(2 * (written + count));
    this.#bytes.copy(grown, grown.length - written, this.#at);
    this.#at = grown.length - written;
    this.#bytes = grown;
  }
}

/** Size of a length-delimited field below number 16, with its key and length. */
export function fieldBytes(contentBytes: number): number {
  return 1 + varintBytes(contentBytes) + contentBytes;
}

/** Writes key and length of a field below number 16; returns where its content belongs. */
export function writeFieldHead(
  out: Buffer,
  at: number,
  field: number,
  contentBytes: number,
): number {
  out[at] = (field << 3) | BYTES;
  return writeVarint(out, at + 1, contentBytes);
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest >>>= 7) bytes += 1;
  return bytes;
}

function writeVarint(out: Buffer, start: number, value: number): number {
  let at = start;
  let rest = value;
  while (rest >= 0x80) {
    out[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  out[at++] = rest;
  return at;
}
