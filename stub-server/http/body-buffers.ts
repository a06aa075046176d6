/** Kept for the next body, the larger ones: together at most 16 MiB. */
const KEPT_MAX = 16;
const KEPT_BYTES_MAX = 1024 * 1024;
/** Smaller ones cost nothing to make. */
const KEPT_BYTES_MIN = 64 * 1024;

/**
 * Memory for request bodies, used again: a body is read and done with before anything else runs, and hundreds of long
 * prompts a second would otherwise each leave their size behind for the garbage collector.
 */
export class BodyBuffers {
  readonly #kept: Buffer[] = [];

  /** At least so many bytes, with anything in them. */
  take(bytes: number): Buffer {
    const at = this.#kept.findIndex((buffer) => buffer.length >= bytes);
    const [found] = at < 0 ? [] : this.#kept.splice(at, 1);
    return found ?? Buffer.allocUnsafe(bytes);
  }

  /** Nobody may look at it after this. */
  giveBack(buffer: Buffer): void {
    const fits = buffer.length >= KEPT_BYTES_MIN && buffer.length <= KEPT_BYTES_MAX;
    if (fits && this.#kept.length < KEPT_MAX) this.#kept.push(buffer);
  }
}
