/** The least memory that is taken: a small page. */
const BYTES_MIN = 4 * 1024;

/** Memory for one body at a time, kept for the next one: it grows to the largest body seen. */
export class ReusedBody {
  #memory: Buffer = Buffer.alloc(0);
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Begins a new body, of so many bytes if that is known. Views of the last one are not valid any
   * more.
   */
  clear(expectedBytes = 0): void {
    this.#bytes = 0;
    this.#reserve(expectedBytes);
  }

  append(chunk: Buffer, from = 0, to: number = chunk.length): void {
    const bytes = this.#bytes + to - from;
    this.#reserve(bytes);
    chunk.copy(this.#memory, this.#bytes, from, to);
    this.#bytes = bytes;
  }

  /** Everything appended since `clear`, as a view. */
  view(): Buffer {
    return this.#memory.subarray(0, this.#bytes);
  }

  #reserve(bytes: number): void {
    const { length } = this.#memory;
    if (bytes <= length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * length, BYTES_MIN));
    this.#memory.copy(larger, 0, 0, this.#bytes);
    this.#memory = larger;
  }
}
