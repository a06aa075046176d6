/** Number and size of the buffers that are kept for the next body: at most 16 MiB in total. */
const KEPT_MAX = 16;
const KEPT_BYTES_MAX = 1024 * 1024;
/** Smaller buffers are cheap to allocate. */
const KEPT_BYTES_MIN = 64 * 1024;

/** Reuses memory of request bodies: hundreds of long prompts per second would become garbage. */
export class BodyBuffers {
  readonly #kept: Buffer[] = [];

  /** A buffer of at least `bytes` bytes with undefined content. */
  take(bytes: number): Buffer {
    const at = this.#kept.findIndex((buffer) => buffer.length >= bytes);
    const [found] = at < 0 ? [] : this.#kept.splice(at, 1);
    return found ?? Buffer.allocUnsafe(bytes);
  }

  /** The caller must not use the buffer after this. */
  giveBack(buffer: Buffer): void {
    const fits = buffer.length >= KEPT_BYTES_MIN && buffer.length <= KEPT_BYTES_MAX;
    if (fits && this.#kept.length < KEPT_MAX) this.#kept.push(buffer);
  }
}
