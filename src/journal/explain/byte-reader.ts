/** Reads what a `ByteLog` has written, in the same order. Reading beyond the end throws a RangeError. */
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
