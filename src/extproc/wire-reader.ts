const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** The top bits of a 64-bit varint cannot be kept in a double; no field we read is that large. */
const VARINT_BYTES_MAX = 10;

/** Walks one protobuf message's fields in place. Throws RangeError when the bytes are not a message. */
export class WireReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;
  #wireType = VARINT;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#at = 0;
    this.#end = bytes.length;
  }

  /** The next field's number, or 0 at the end. The field must then be read or skipped. */
  next(): number {
    if (this.#at >= this.#end) return 0;
    const key = this.varint();
    this.#wireType = key & 7;
    const field = key >>> 3;
    if (field === 0) throw new RangeError('protobuf field number 0');
    return field;
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (let length = 0; length < VARINT_BYTES_MAX; length++) {
      const byte = this.#bytes[this.#at];
      if (this.#at >= this.#end || byte === undefined) throw truncated();
      this.#at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw new RangeError('protobuf varint longer than 10 bytes');
  }

  bool(): boolean {
    this.#expect(VARINT);
    return this.varint() !== 0;
  }

  uint32(): number {
    this.#expect(VARINT);
    return this.varint() >>> 0;
  }

  /** A view, not a copy. */
  bytes(): Buffer {
    this.#expect(BYTES);
    const length = this.varint();
    const start = this.#at;
    if (length > this.#end - start) throw truncated();
    this.#at = start + length;
    return this.#bytes.subarray(start, this.#at);
  }

  /** Bad UTF-8 becomes replacement characters: a header must not end a stream. */
  text(): string {
    return this.bytes().toString('utf8');
  }

  skip(): void {
    switch (this.#wireType) {
      case VARINT:
        this.varint();
        return;
      case FIXED64:
        this.#advance(8);
        return;
      case BYTES:
        this.bytes();
        return;
      case FIXED32:
        this.#advance(4);
        return;
      default:
        throw new RangeError(`protobuf wire type ${this.#wireType}`);
    }
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
