const BYTES_AT_FIRST = 1024;

/** Bytes in one growing piece. The limit on bodies bounds them. */
export class TextBuffer {
  #bytes = new Uint8Array(BYTES_AT_FIRST);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Valid until the next change. */
  get text(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  push(piece: Uint8Array): void {
    this.#makeRoom(piece.length);
    this.#bytes.set(piece, this.#length);
    this.#length += piece.length;
  }

  pushByte(byte: number): void {
    this.#makeRoom(1);
    this.#bytes[this.#length++] = byte;
  }

  cut(length: number): void {
    this.#length = length;
  }

  /** Moves what was pushed from `from` on before what was pushed from `to` on. */
  moveBack(from: number, to: number): void {
    const moved = this.#bytes.slice(from, this.#length);
    this.#bytes.copyWithin(to + moved.length, to, from);
    this.#bytes.set(moved, to);
  }

  #makeRoom(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const longer = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    longer.set(this.text);
    this.#bytes = longer;
  }
}
