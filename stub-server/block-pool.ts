/** A KV block with known content: shared by reference, evictable when nobody holds it. */
interface CachedBlock {
  readonly key: number;
  references: number;
  older: CachedBlock | undefined;
  newer: CachedBlock | undefined;
}

/**
 * Paged KV memory with a prefix cache, as vLLM keeps it: blocks of known content are shared and stay after their last
 * holder has gone, in an order of last release, until their memory is needed. Blocks of unknown content (a partial
 * block, generated tokens) are counted but have no identity.
 */
export class BlockPool {
  readonly total: number;
  /** Held by somebody, cached or not. */
  #held = 0;
  readonly #cached = new Map<number, CachedBlock>();
  /** Cached and held by nobody, least recently released first. */
  #oldest: CachedBlock | undefined;
  #newest: CachedBlock | undefined;
  #idle = 0;

  constructor(total: number) {
    this.total = total;
  }

  get held(): number {
    return this.#held;
  }

  /** Share of the memory that cannot be taken for something else. */
  get usage(): number {
    return this.#held / this.total;
  }

  /** Blocks cached, held or not. */
  get cached(): number {
    return this.#cached.size;
  }

  /** Leading blocks of the chain that are cached. */
  matched(keys: readonly number[], limit: number): number {
    let count = 0;
    while (count < limit && this.#cached.has(keys[count] as number)) count += 1;
    return count;
  }

  /** Takes `count` blocks without content, evicting idle ones where needed; all of them or none. */
  take(count: number): boolean {
    if (this.#held + count > this.total) return false;
    this.#held += count;
    this.#evict();
    return true;
  }

  /** Holds the first `count` blocks of the chain, which must be cached. */
  hold(keys: readonly number[], count: number): void {
    for (let index = 0; index < count; index++) {
      const block = this.#cached.get(keys[index] as number);
      if (block === undefined) throw new Error('held a block that is not cached');
      if (block.references === 0) {
        this.#unlink(block);
        this.#held += 1;
      }
      block.references += 1;
    }
  }

  /** Whether holding the first `count` cached blocks and taking `more` would fit. */
  fits(keys: readonly number[], count: number, more: number): boolean {
    let idle = 0;
    for (let index = 0; index < count; index++) {
      if (this.#cached.get(keys[index] as number)?.references === 0) idle += 1;
    }
    return this.#held + idle + more <= this.total;
  }

  /**
   * A taken block has been filled with this content. False when another copy is cached already: then the taken block
   * stays without identity, as a duplicate does in vLLM.
   */
  fill(key: number): boolean {
    if (this.#cached.has(key)) return false;
    this.#cached.set(key, { key, references: 1, older: undefined, newer: undefined });
    return true;
  }

  /** Gives back a cached block that was held; it stays cached while there is room. */
  release(key: number): void {
    const block = this.#cached.get(key);
    if (block === undefined || block.references === 0) throw new Error('released a block not held');
    block.references -= 1;
    if (block.references > 0) return;
    this.#held -= 1;
    block.older = this.#newest;
    block.newer = undefined;
    if (this.#newest === undefined) this.#oldest = block;
    else this.#newest.newer = block;
    this.#newest = block;
    this.#idle += 1;
  }

  /** Gives back blocks without identity. */
  drop(count: number): void {
    this.#held -= count;
  }

  /** Forgets every idle block. */
  reset(): void {
    while (this.#oldest !== undefined) this.#forget(this.#oldest);
  }

  #evict(): void {
    while (this.#held + this.#idle > this.total && this.#oldest !== undefined) {
      this.#forget(this.#oldest);
    }
  }

  #forget(block: CachedBlock): void {
    this.#unlink(block);
    this.#cached.delete(block.key);
  }

  #unlink(block: CachedBlock): void {
    if (block.older === undefined) this.#oldest = block.newer;
    else block.older.newer = block.newer;
    if (block.newer === undefined) this.#newest = block.older;
    else block.newer.older = block.older;
    block.older = undefined;
    block.newer = undefined;
    this.#idle -= 1;
  }
}
