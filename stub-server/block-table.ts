/** Slots at first; grows with use, because a process holds hundreds of tables and most stay small. */
const SLOTS_MIN = 64;

/**
 * From a block's content hash to the block, as open addressing over typed arrays: a `Map` keyed by 53-bit numbers
 * boxes each key. One hash may stand for several blocks, as in vLLM; `find` gives the one that came first.
 */
export class BlockTable {
  #hashes: Float64Array = new Float64Array(SLOTS_MIN);
  /** Block plus one; 0 is an empty slot. */
  #blocks: Int32Array = new Int32Array(SLOTS_MIN);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The block with this content, or -1. */
  find(hash: number): number {
    const mask = this.#blocks.length - 1;
    for (let slot = homeOf(hash, mask); ; slot = (slot + 1) & mask) {
      const block = this.#blocks[slot] as number;
      if (block === 0) return -1;
      if (this.#hashes[slot] === hash) return block - 1;
    }
  }

  add(hash: number, block: number): void {
    if (2 * (this.#size + 1) > this.#blocks.length) this.#grow();
    this.#insert(hash, block + 1);
    this.#size += 1;
  }

  /** Forgets one block; others of the same content stay. Ignores what is not there. */
  remove(hash: number, block: number): void {
    const mask = this.#blocks.length - 1;
    let slot = homeOf(hash, mask);
    for (;;) {
      const found = this.#blocks[slot] as number;
      if (found === 0) return;
      if (found === block + 1 && this.#hashes[slot] === hash) break;
      slot = (slot + 1) & mask;
    }
    this.#size -= 1;
    this.#closeGap(slot, mask);
  }

  clear(): void {
    this.#hashes = new Float64Array(SLOTS_MIN);
    this.#blocks = new Int32Array(SLOTS_MIN);
    this.#size = 0;
  }

  /** Moves up whatever would no longer be found across the gap: no tombstones, so tables never need a rebuild. */
  #closeGap(gap: number, mask: number): void {
    let hole = gap;
    for (let slot = (gap + 1) & mask; this.#blocks[slot] !== 0; slot = (slot + 1) & mask) {
      const hash = this.#hashes[slot] as number;
      const fromHome = (slot - homeOf(hash, mask)) & mask;
      if (fromHome < ((slot - hole) & mask)) continue;
      this.#hashes[hole] = hash;
      this.#blocks[hole] = this.#blocks[slot] as number;
      hole = slot;
    }
    this.#blocks[hole] = 0;
  }

  #insert(hash: number, entry: number): void {
    const mask = this.#blocks.length - 1;
    let slot = homeOf(hash, mask);
    while (this.#blocks[slot] !== 0) slot = (slot + 1) & mask;
    this.#hashes[slot] = hash;
    this.#blocks[slot] = entry;
  }

  #grow(): void {
    const hashes = this.#hashes;
    const blocks = this.#blocks;
    this.#hashes = new Float64Array(2 * hashes.length);
    this.#blocks = new Int32Array(2 * blocks.length);
    // From behind a gap, so that equal hashes keep their order across the wrap.
    const start = blocks.indexOf(0);
    for (let step = 0; step < blocks.length; step++) {
      const slot = (start + step) & (blocks.length - 1);
      if (blocks[slot] !== 0) this.#insert(hashes[slot] as number, blocks[slot] as number);
    }
  }
}

function homeOf(hash: number, mask: number): number {
  let mixed = Math.imul((hash ^ (hash / 0x1_0000_0000)) | 0, 0x45d9f3b);
  mixed ^= mixed >>> 15;
  return (Math.imul(mixed, 0x2c1b3c6d) >>> 8) & mask;
}
