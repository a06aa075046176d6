/** Token ids by request, bounded in bytes. The least recently used are forgotten first. */
export class TokenCache {
  readonly #bytesMax: number;
  readonly #entries = new Map<string, Uint32Array>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(question: string): Uint32Array | undefined {
    const ids = this.#entries.get(question);
    if (ids === undefined) return undefined;
    this.#entries.delete(question);
    this.#entries.set(question, ids);
    return ids;
  }

  /** Keeps nothing above a quarter of the room, as it would displace too much. */
  set(question: string, ids: Uint32Array): void {
    const bytes = sizeOf(question, ids);
    if (bytes > this.#bytesMax / 4) return;
    const before = this.#entries.get(question);
    if (before !== undefined) this.#forget(question, before);
    this.#entries.set(question, ids);
    this.#bytes += bytes;
    for (const [oldest, oldestIds] of this.#entries) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#forget(oldest, oldestIds);
    }
  }

  #forget(question: string, ids: Uint32Array): void {
    this.#entries.delete(question);
    this.#bytes -= sizeOf(question, ids);
  }
}

function sizeOf(question: string, ids: Uint32Array): number {
  return question.length + ids.byteLength;
}
