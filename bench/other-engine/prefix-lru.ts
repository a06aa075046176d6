/**
 * The blocks of prompts that an engine still holds, the least recently used first. It knows only
 * how many there are, not where they lie.
 */
export class PrefixLru {
  readonly #blocks = new Set<number>();

  get size(): number {
    return this.#blocks.size;
  }

  /** How many blocks from the start of the prompt are held. They count as used now. */
  match(hashes: ArrayLike<number>): number {
    let count = 0;
    while (count < hashes.length && this.#blocks.has(hashes[count] as number)) count += 1;
    this.#use(hashes, count);
    return count;
  }

  add(hashes: ArrayLike<number>): void {
    this.#use(hashes, hashes.length);
  }

  /** Drops the least recently used until no more than so many are left. */
  keep(most: number): void {
    for (const hash of this.#blocks) {
      if (this.#blocks.size <= most) return;
      this.#blocks.delete(hash);
    }
  }

  clear(): void {
    this.#blocks.clear();
  }

  /** The beginning last: what is left of a prompt after a removal must be its beginning. */
  #use(hashes: ArrayLike<number>, count: number): void {
    for (let index = count - 1; index >= 0; index--) {
      const hash = hashes[index] as number;
      this.#blocks.delete(hash);
      this.#blocks.add(hash);
    }
  }
}
