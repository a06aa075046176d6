/** Capacity: 16 M tokens in blocks of 16. */
const BLOCKS_MAX = 1_000_000;

/** KV of all servers of a model, as in vLLM's shared storage; evicts least recently used blocks. */
export class SharedStore {
  readonly #hashes = new Set<number>();
  readonly #blocksMax: number;

  constructor(blocksMax: number = BLOCKS_MAX) {
    this.#blocksMax = blocksMax;
  }

  leading(hashes: ArrayLike<number>): number {
    let count = 0;
    while (count < hashes.length && this.#hashes.has(hashes[count] as number)) count += 1;
    return count;
  }

  keep(hashes: ArrayLike<number>): void {
    // From the end: the head of a prompt, which others may share, is removed last.
    for (let index = hashes.length - 1; index >= 0; index--) {
      const hash = hashes[index] as number;
      this.#hashes.delete(hash);
      this.#hashes.add(hash);
    }
    for (const oldest of this.#hashes) {
      if (this.#hashes.size <= this.#blocksMax) break;
      this.#hashes.delete(oldest);
    }
  }
}
