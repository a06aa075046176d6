const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** A double loses the top bits of a 64-bit varint; no field that is read here is that large. */
const VARINT_BYTES_MAX = 10;

/** Walks a message's fields in place, without copies. Throws RangeError for malformed bytes. */
export class WireReader {
  readonly #bytes: Buffer;
  #end: number;
  #at = 0;
  #wireType = VARINT;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#end = bytes.length;
  }

  /** The next field's number, 0 at the end. The caller must then read, enter or skip the field. */
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

  bytes(): Buffer {
    const start = this.#content();
    return this.#bytes.subarray(start, this.#at);
  }

  /** Invalid UTF-8 becomes replacement characters: a header must not end a stream. */
  text(): string {
    const start = this.#content();
    return this.#bytes.toString('utf8', start, this.#at);
  }

  /** Reads the field and returns whether it is exactly `ascii`. */
  textIs(ascii: string): boolean {
    return this.#equals(this.#content(), ascii);
  }

  /** Reads the field and returns which of these it is exactly, or -1. */
  textAmong(asciis: readonly string[]): number {
    const start = this.#content();
    for (let index = 0; index < asciis.length; index++) {
      if (this.#equals(start, asciis[index] as string)) return index;
    }
    return -1;
  }

  /** Enters the nested message. `leave` with the returned value continues behind it. */
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

  /** Moves behind a length-delimited field and returns where its content starts. */
  #content(): number {
    this.#expect(BYTES);
    const length = this.#varint();
    const start = this.#at;
    this.#advance(length);
    return start;
  }

  /** Whether the field that was read last, whose content starts there, is `ascii`. */
  #equals(start: number, ascii: string): boolean {
    if (this.#at - start !== ascii.length) return false;
    for (let index = 0; index < ascii.length; index++) {
      if (this.#bytes[start + index] !== ascii.charCodeAt(index)) return false;
    }
    return true;
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
      throw new RangeError(`protobuf wire type ${this.#wireType} where ${wireType} was expected`);
    }
  }
}

function truncated(): RangeError {
  return new RangeError('protobuf message is cut short');
}
