const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** The top bits of a 64-bit varint cannot be kept in a double; no field we read is that large. */
const VARINT_BYTES_MAX = 10;

/**
 * Walks a protobuf message's fields in place: a nested message is entered and left, not cut out.
 * Throws RangeError when the bytes are not a message.
 */
export class WireReader {
  readonly #bytes: Buffer;
  #end: number;
  #at = 0;
  #wireType = VARINT;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#end = bytes.length;
  }

  /** The next field's number, or 0 at the end of the message. The field must then be read, entered or skipped. */
  next(): number {
    if (this.#at >= this.#end) return 0;
    const key = this.#varint();
    this.#wireType = key & 7;
    const field = key >>> 3;
    if (field === 0) throw new RangeError('protobuf field number 0');
    return field;
  }

  bool(): boolean {
    this.#expect(VARINT);
    return this.#varint() !== 0;
  }

  uint32(): number {
    this.#expect(VARINT);
    return this.#varint() >>> 0;
  }

  /** A view, not a copy. */
  bytes(): Buffer {
    const start = this.#content();
    return this.#bytes.subarray(start, this.#at);
  }

  /** Bad UTF-8 becomes replacement characters: a header must not end a stream. */
  text(): string {
    const start = this.#content();
    return this.#bytes.toString('utf8', start, this.#at);
  }

  /** Whether this text is exactly `ascii`; reads the field either way. */
  textIs(ascii: string): boolean {
    const start = this.#content();
    if (this.#at - start !== ascii.length) return false;
    for (let index = 0; index < ascii.length; index++) {
      if (this.#bytes[start + index] !== ascii.charCodeAt(index)) return false;
    }
    return true;
  }

  /** Goes into the nested message; `leave` with what this returns goes on behind it. */
  enter(): number {
    const outer = this.#end;
    const start = this.#content();
    this.#end = this.#at;
    this.#at = start;
    return outer;
  }

  leave(outer: number): void {
    this.#at = this.#end;
    this.#end = outer;
  }

  skip(): void {
    switch (this.#wireType) {
      case VARINT:
        this.#varint();
        return;
      case FIXED64:
        this.#advance(8);
        return;
      case BYTES:
        this.#content();
        return;
      case FIXED32:
        this.#advance(4);
        return;
      default:
        throw new RangeError(`protobuf wire type ${this.#wireType}`);
    }
  }

  /** Steps over a length-delimited field and returns where its content starts; it ends where the reader is. */
  #content(): number {
    this.#expect(BYTES);
    const length = this.#varint();
    const start = this.#at;
    this.#advance(length);
    return start;
  }

  #varint(): number {
    let value = 0;
    let scale = 1;
    for (let length = 0; length < VARINT_BYTES_MAX; length++) {
      if (this.#at >= this.#end) throw truncated();
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw new RangeError(`protobuf varint longer than ${VARINT_BYTES_MAX} bytes`);
  }

  #advance(count: number): void {
    if (count > this.#end - this.#at) throw truncated();
    this.#at += count;
  }

  #expect(wireType: number): void {
    if (this.#wireType !== wireType) {
      throw new RangeError(`protobuf wire type ${this.#wireType} where ${wireType} belongs`);
    }
  }
}

function truncated(): RangeError {
  return new RangeError('protobuf message is cut short');
}
