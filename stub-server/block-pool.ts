import { invariant } from '../src/framework/error.ts';
import { BlockTable } from './block-table.ts';

const NONE = -1;
/** Blocks whose state is held at first; grows with use. */
const CAPACITY_MIN = 256;

/**
 * Paged KV memory with a prefix cache, as vLLM's block pool keeps it. A block held by nobody stands in one list, least
 * recently released first, whether its content is known or not; a block of known content stays findable there until
 * its memory is taken. Blocks never used come before all others.
 */
export class BlockPool {
  readonly total: number;
  #free: number;
  /** Blocks from here on have never been used. */
  #fresh = 0;
  #oldest = NONE;
  #newest = NONE;
  #references: Int32Array = new Int32Array(CAPACITY_MIN);
  #older: Int32Array = new Int32Array(CAPACITY_MIN);
  #newer: Int32Array = new Int32Array(CAPACITY_MIN);
  /** NaN where the content is not known. */
  #hashes: Float64Array = new Float64Array(CAPACITY_MIN);
  readonly #table = new BlockTable();
  readonly #onForgotten: (hash: number) => void;

  /** `onForgotten` hears of each block of known content whose memory is taken for something else. */
  constructor(total: number, onForgotten: (hash: number) => void = () => undefined) {
    this.total = total;
    this.#free = total;
    this.#onForgotten = onForgotten;
  }

  /** Blocks that can be taken, those with cached content included. */
  get free(): number {
    return this.#free;
  }

  get held(): number {
    return this.total - this.#free;
  }

  /** Share of the memory held by somebody, 0 to 1. */
  get usage(): number {
    return this.held / this.total;
  }

  /** Blocks of known content, held or not. */
  get cached(): number {
    return this.#table.size;
  }

  /** A block with this content, or -1. */
  find(hash: number): number {
    return this.#table.find(hash);
  }

  isHeld(block: number): boolean {
    return (this.#references[block] as number) > 0;
  }

  /** One holder more of a block found. */
  hold(block: number): void {
    const references = this.#references[block] as number;
    if (references === 0) this.#unlink(block);
    this.#references[block] = references + 1;
  }

  /** A block for new content; what it had is forgotten. There must be a free one. */
  take(): number {
    if (this.#fresh < this.total) return this.#takeFresh();
    const block = this.#oldest;
    if (block === NONE) invariant(false, 'took a block of a full pool');
    this.#unlink(block);
    this.#references[block] = 1;
    const hash = this.#hashes[block] as number;
    if (!Number.isNaN(hash)) {
      this.#table.remove(hash, block);
      this.#hashes[block] = Number.NaN;
      this.#onForgotten(hash);
    }
    return block;
  }

  /** Says what a taken block has been filled with; from now on it can be found. */
  identify(block: number, hash: number): void {
    this.#hashes[block] = hash;
    this.#table.add(hash, block);
  }

  /** One holder less; without any the block becomes the most recent free one. */
  release(block: number): void {
    const references = (this.#references[block] as number) - 1;
    if (references < 0) invariant(false, 'released a block that nobody held');
    this.#references[block] = references;
    if (references > 0) return;
    this.#older[block] = this.#newest;
    this.#newer[block] = NONE;
    if (this.#newest === NONE) this.#oldest = block;
    else this.#newer[this.#newest] = block;
    this.#newest = block;
    this.#free += 1;
  }

  /** Forgets all content and all holders, without telling of each block. */
  reset(): void {
    this.#table.clear();
    this.#free = this.total;
    this.#fresh = 0;
    this.#oldest = NONE;
    this.#newest = NONE;
  }

  #takeFresh(): number {
    const block = this.#fresh;
    this.#fresh += 1;
    this.#free -= 1;
    if (block >= this.#references.length) this.#grow();
    this.#references[block] = 1;
    this.#hashes[block] = Number.NaN;
    return block;
  }

  #unlink(block: number): void {
    const older = this.#older[block] as number;
    const newer = this.#newer[block] as number;
    if (older === NONE) this.#oldest = newer;
    else this.#newer[older] = newer;
    if (newer === NONE) this.#newest = older;
    else this.#older[newer] = older;
    this.#free -= 1;
  }

  #grow(): void {
    const length = Math.min(this.total, 2 * this.#references.length);
    const grown = <T extends Int32Array | Float64Array>(into: T, from: T): T => {
      into.set(from);
      return into;
    };
    this.#references = grown(new Int32Array(length), this.#references);
    this.#older = grown(new Int32Array(length), this.#older);
    this.#newer = grown(new Int32Array(length), this.#newer);
    this.#hashes = grown(new Float64Array(length), this.#hashes);
  }
}
