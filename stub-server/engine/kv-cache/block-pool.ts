import { invariant } from '../../../src/framework/error.ts';
import { BlockHashTable } from './block-hash-table.ts';
import { FreeQueue } from './free-queue.ts';

/** Initial number of blocks with state; the arrays grow with use. */
const CAPACITY_MIN = 256;

/**
 * Paged KV memory with a prefix cache, as in vLLM. Blocks that were never used are taken first,
 * then the least recently released; until then, a free block can be found by its content.
 */
export class BlockPool {
  readonly total: number;
  /** Blocks from this index on have never been used. */
  #fresh = 0;
  readonly #released = new FreeQueue();
  /** Number of sequences that hold each block. */
  #holders: Int32Array = new Int32Array(CAPACITY_MIN);
  /** Content hash of each block; NaN where the content is not known. */
  #hashes: Float64Array = new Float64Array(CAPACITY_MIN);
  readonly #table = new BlockHashTable();
  readonly #onEvicted: (hash: number) => void;

  /** `onEvicted` is called for each block of known content whose memory is taken. */
  constructor(total: number, onEvicted: (hash: number) => void = () => undefined) {
    this.total = total;
    this.#released.reserve(CAPACITY_MIN);
    this.#onEvicted = onEvicted;
  }

  /** Blocks that can be taken, including those with cached content. */
  get free(): number {
    return this.total - this.#fresh + this.#released.size;
  }

  get held(): number {
    return this.#fresh - this.#released.size;
  }

  /** Share of all blocks that are held, 0 to 1. */
  get usage(): number {
    return this.held / this.total;
  }

  /** Blocks of known content, held or free. */
  get cached(): number {
    return this.#table.size;
  }

  /** Content hash → number of blocks with it. It scans all blocks: for tests and state dumps. */
  contents(): Map<number, number> {
    const contents = new Map<number, number>();
    for (let block = 0; block < this.#fresh; block++) {
      const hash = this.#hashes[block] as number;
      if (!Number.isNaN(hash)) contents.set(hash, (contents.get(hash) ?? 0) + 1);
    }
    return contents;
  }

  /** A block with this content, if there is one. */
  find(hash: number): number | undefined {
    return this.#table.find(hash, this.#hashes);
  }

  isHeld(block: number): boolean {
    return (this.#holders[block] as number) > 0;
  }

  /** Adds a holder to a block that `find` has returned. */
  hold(block: number): void {
    const holders = this.#holders[block] as number;
    if (holders === 0) this.#released.remove(block);
    this.#holders[block] = holders + 1;
  }

  /** Takes a free block for new content and evicts its old content. One must be free. */
  take(): number {
    if (this.#fresh < this.total) return this.#takeFresh();
    const block = this.#released.shift();
    if (block === undefined) invariant(false, 'a block was taken from a full pool');
    this.#holders[block] = 1;
    const hash = this.#hashes[block] as number;
    if (!Number.isNaN(hash)) {
      this.#table.remove(hash, block, this.#hashes);
      this.#hashes[block] = Number.NaN;
      this.#onEvicted(hash);
    }
    return block;
  }

  /** Records the content of a taken block, which `find` returns from now on. */
  identify(block: number, hash: number): void {
    this.#hashes[block] = hash;
    this.#table.add(hash, block, this.#hashes);
  }

  /** Removes a holder. A block without holders goes to the end of the free queue. */
  release(block: number): void {
    const holders = (this.#holders[block] as number) - 1;
    if (holders < 0) invariant(false, 'a block was released that no sequence holds');
    this.#holders[block] = holders;
    if (holders === 0) this.#released.push(block);
  }

  /** Removes all content and all holders without calls to `onEvicted`. */
  reset(): void {
    this.#table.clear();
    this.#released.clear();
    this.#fresh = 0;
  }

  #takeFresh(): number {
    const block = this.#fresh;
    this.#fresh += 1;
    if (block >= this.#hashes.length) this.#grow();
    this.#holders[block] = 1;
    this.#hashes[block] = Number.NaN;
    return block;
  }

  #grow(): void {
    const blocks = 2 * this.#hashes.length;
    const holders = new Int32Array(blocks);
    holders.set(this.#holders);
    this.#holders = holders;
    const hashes = new Float64Array(blocks);
    hashes.set(this.#hashes);
    this.#hashes = hashes;
    this.#released.reserve(blocks);
  }
}
