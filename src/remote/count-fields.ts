/** Wire types of protobuf whose length does not depend on their content. */
const FIXED_BYTES: Readonly<Record<number, number>> = { 1: 8, 5: 4 };
const VARINT = 0;
const LENGTH_DELIMITED = 2;
const VARINT_BYTES_MAX = 10;

/**
 * How many fields a message has and, one level deeper, its messages have. Texts and bytes are
 * counted as if they were messages, so it may be more. What cannot be read ends the count: a
 * decoder refuses it. Decoding makes objects of up to 300 bytes from fields of 2, so it is counted
 * before.
 */
export function countFields(bytes: Uint8Array): number {
  const counter = new FieldCounter(bytes);
  return counter.count(bytes.length, 1);
}

class FieldCounter {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  count(end: number, deeper: number): number {
    let fields = 0;
    while (this.#at < end) {
      fields += 1;
      const wireType = this.#varint() & 7;
      if (wireType === VARINT) this.#varint();
      else if (wireType === LENGTH_DELIMITED) {
        const length = this.#varint();
        const fieldEnd = Math.min(end, this.#at + length);
        if (deeper > 0) fields += this.count(fieldEnd, deeper - 1);
        this.#at = fieldEnd;
      } else this.#at += FIXED_BYTES[wireType] ?? this.#bytes.length;
    }
    return fields;
  }

  #varint(): number {
    let value = 0;
    for (let place = 0; place < VARINT_BYTES_MAX; place++) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 0x7f) * 2 ** (7 * place);
      if (byte < 0x80) break;
    }
    return value;
  }
}
