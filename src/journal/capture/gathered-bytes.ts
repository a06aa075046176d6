const BYTES_AT_FIRST = 256 * 1024;
/** Memory that a burst took beyond this is not kept. */
const SPARE_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Gathers bytes in reused memory: megabytes allocated every second make the garbage collector mark
 * the whole heap twice a second, which costs more than writing them.
 */
export class GatheredBytes {
  #bytes = new Uint8Array(BYTES_AT_FIRST);
  length = 0;
  #spare: ArrayBuffer | undefined;

  add(bytes: Uint8Array): void {
    const length = this.length + bytes.length;
    if (length > this.#bytes.length) {
      const grown = new Uint8Array(2 * length);
      grown.set(this.#bytes.subarray(0, this.length));
      this.#bytes = grown;
    }
    this.#bytes.set(bytes, this.length);
    this.length = length;
  }

  /** All bytes so far. They stay unchanged until they are given back. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.subarray(0, this.length);
    this.#bytes = new Uint8Array(this.#spare ?? new ArrayBuffer(BYTES_AT_FIRST));
    this.#spare = undefined;
    this.length = 0;
    return taken;
  }

  /** Call it when the bytes taken are no longer needed. */
  giveBack({ buffer }: Uint8Array<ArrayBuffer>): void {
    if (buffer.byteLength <= SPARE_BYTES_MAX) this.#spare = buffer;
  }
}
