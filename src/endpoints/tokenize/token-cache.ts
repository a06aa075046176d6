/** Token ids by the question they answer, least recently asked forgotten first, bounded in bytes. */
export class TokenCache {
  readonly #bytesMax: number;
  readonly #entries = new Map<string, Uint32Array>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Of ids and questions together. */
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

  /** Does not keep what would take more than a quarter of the room: it would drive out too much. */
  set(question: string, ids: Uint32Array): void {
    const bytes = sizeOf(question, ids);
    if (bytes > this.#bytesMax / 4) return;
    const before = this.#entries.get(question);
    if (before !== undefined) this.#forget(question, before);
    this.#entries.set(question, ids);
    this.#bytes += bytes;
    for (const [oldest, its] of this.#entries) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#forget(oldest, its);
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
