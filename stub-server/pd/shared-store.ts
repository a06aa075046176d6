/** Blocks it remembers, the least recently used forgotten first: 16 M tokens of 16 each. */
const BLOCKS_MAX = 1_000_000;

/** KV that all servers of a model write to and read from, as with vLLM's shared-storage connector. */
export class SharedStore {
  readonly #hashes = new Set<number>();
  readonly #blocksMax: number;

  constructor(blocksMax: number = BLOCKS_MAX) {
    this.#blocksMax = blocksMax;
  }

  /** How many blocks are there from the start on. */
  leading(hashes: ArrayLike<number>): number {
    let count = 0;
    while (count < hashes.length && this.#hashes.has(hashes[count] as number)) count += 1;
    return count;
  }

  keep(hashes: ArrayLike<number>): void {
    // From the end, so that the head of a prompt, which others may share, is the last to be forgotten.
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
