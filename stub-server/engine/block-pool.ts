import { invariant } from '../../src/framework/error.ts';
import { BlockTable } from './block-table.ts';
import { FreeQueue } from './free-queue.ts';

/** Blocks whose state is held at first; grows with use. */
const CAPACITY_MIN = 256;

/**
 * Paged KV memory with a prefix cache, as vLLM's block pool keeps it. A block held by nobody stands in one list, least
 * recently released first, whether its content is known or not; a block of known content stays findable there until
 * its memory is taken. Blocks never used come before all others.
 */
export class BlockPool {
  readonly total: number;
  /** Blocks from here on have never been used. */
  #fresh = 0;
  readonly #released = new FreeQueue();
  /** How many hold each. */
  #holders: Int32Array = new Int32Array(CAPACITY_MIN);
  /** NaN where the content is not known. */
  #hashes: Float64Array = new Float64Array(CAPACITY_MIN);
  readonly #table = new BlockTable();
  readonly #onForgotten: (hash: number) => void;

  /** `onForgotten` hears of each block of known content whose memory is taken for something else. */
  constructor(total: number, onForgotten: (hash: number) => void = () => undefined) {
    this.total = total;
    this.#released.reserve(CAPACITY_MIN);
    this.#onForgotten = onForgotten;
  }

  /** Blocks that can be taken, those with cached content included. */
  get free(): number {
    return this.total - this.#fresh + this.#released.size;
  }

  get held(): number {
    return this.#fresh - this.#released.size;
  }

  /** Share of the memory held by somebody, 0 to 1. */
  get usage(): number {
    return this.held / this.total;
  }

  /** Blocks of known content, held or not. */
  get cached(): number {
    return this.#table.size;
  }

  /** Every content in the cache, and how many blocks have it. For tests and state dumps: it walks all memory. */
  contents(): Map<number, number> {
    const contents = new Map<number, number>();
    for (let block = 0; block < this.#fresh; block++) {
      const hash = this.#hashes[block] as number;
      if (!Number.isNaN(hash)) contents.set(hash, (contents.get(hash) ?? 0) + 1);
    }
    return contents;
  }

  /** A block with this content, or -1. */
  find(hash: number): number {
    return this.#table.find(hash, this.#hashes);
  }

  isHeld(block: number): boolean {
    return (this.#holders[block] as number) > 0;
  }

  /** One holder more of a block found. */
  hold(block: number): void {
    const holders = this.#holders[block] as number;
    if (holders === 0) this.#released.remove(block);
    this.#holders[block] = holders + 1;
  }

  /** A block for new content; what it had is forgotten. There must be a free one. */
  take(): number {
    if (this.#fresh < this.total) return this.#takeFresh();
    const block = this.#released.shift();
    if (block === -1) invariant(false, 'took a block of a full pool');
    this.#holders[block] = 1;
    const hash = this.#hashes[block] as number;
    if (!Number.isNaN(hash)) {
      this.#table.remove(hash, block, this.#hashes);
      this.#hashes[block] = Number.NaN;
      this.#onForgotten(hash);
    }
    return block;
  }

  /** Says what a taken block has been filled with; from now on it can be found. */
  identify(block: number, hash: number): void {
    this.#hashes[block] = hash;
    this.#table.add(hash, block, this.#hashes);
  }

  /** One holder less; without any the block becomes the most recent free one. */
  release(block: number): void {
    const holders = (this.#holders[block] as number) - 1;
    if (holders < 0) invariant(false, 'released a block that nobody held');
    this.#holders[block] = holders;
    if (holders === 0) this.#released.push(block);
  }

  /** Forgets all content and all holders, without telling of each block. */
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
