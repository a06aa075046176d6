/** A usual metrics page. */
const BYTES_AT_FIRST = 32 * 1024;

/** Memory for one body at a time, kept for the next: it grows to the largest one seen. */
export class ReusedBody {
  #memory: Buffer = Buffer.alloc(0);
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Begins a new body; the last one is no more. */
  clear(): void {
    this.#bytes = 0;
  }

  append(chunk: Buffer): void {
    const bytes = this.#bytes + chunk.length;
    if (bytes > this.#memory.length) {
      const larger = Buffer.allocUnsafe(Math.max(bytes, 2 * this.#memory.length, BYTES_AT_FIRST));
      this.#memory.copy(larger, 0, 0, this.#bytes);
      this.#memory = larger;
    }
    chunk.copy(this.#memory, this.#bytes);
    this.#bytes = bytes;
  }

  /** What was appended since `clear`; a view, valid until the next. */
  view(): Buffer {
    return this.#memory.subarray(0, this.#bytes);
  }
}
