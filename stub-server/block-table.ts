/** Slots at first; grows with use, because a process holds hundreds of tables and most stay small. */
const SLOTS_MIN = 64;

/**
 * From a block's content hash to the block, as open addressing over one typed array: a `Map` keyed by 53-bit numbers
 * boxes each key, and lookups here are bound by cache misses. One hash may stand for several blocks, as in vLLM;
 * `find` gives the one that came first.
 */
export class BlockTable {
  /** In pairs: the mixed hash, and its block plus one, or 0 for an empty slot. */
  #pairs: Int32Array = new Int32Array(2 * SLOTS_MIN);
  #mask: number = SLOTS_MIN - 1;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The block with this content, or -1. `hashes` says what each block added has. */
  find(hash: number, hashes: Float64Array): number {
    const pairs = this.#pairs;
    const mask = this.#mask;
    const mixed = mix(hash);
    for (let slot = mixed & mask; ; slot = (slot + 1) & mask) {
      const entry = pairs[2 * slot + 1] as number;
      if (entry === 0) return -1;
      if (pairs[2 * slot] === mixed && hashes[entry - 1] === hash) return entry - 1;
    }
  }

  add(hash: number, block: number): void {
    if (2 * (this.#size + 1) > this.#mask + 1) this.#grow();
    this.#insert(mix(hash), block + 1);
    this.#size += 1;
  }

  /** Forgets one block; others of the same content stay. It must be there. */
  remove(hash: number, block: number): void {
    const pairs = this.#pairs;
    const mask = this.#mask;
    let slot = mix(hash) & mask;
    while (pairs[2 * slot + 1] !== block + 1) slot = (slot + 1) & mask;
    this.#size -= 1;
    this.#closeGap(slot);
  }

  clear(): void {
    this.#pairs = new Int32Array(2 * SLOTS_MIN);
    this.#mask = SLOTS_MIN - 1;
    this.#size = 0;
  }

  /** Moves up whatever would no longer be found across the gap: no tombstones, so tables never need a rebuild. */
  #closeGap(gap: number): void {
    const pairs = this.#pairs;
    const mask = this.#mask;
    let hole = gap;
    for (let slot = (gap + 1) & mask; pairs[2 * slot + 1] !== 0; slot = (slot + 1) & mask) {
      const mixed = pairs[2 * slot] as number;
      const fromHome = (slot - mixed) & mask;
      if (fromHome < ((slot - hole) & mask)) continue;
      pairs[2 * hole] = mixed;
      pairs[2 * hole + 1] = pairs[2 * slot + 1] as number;
      hole = slot;
    }
    pairs[2 * hole + 1] = 0;
  }

  #insert(mixed: number, entry: number): void {
    const pairs = this.#pairs;
    const mask = this.#mask;
    let slot = mixed & mask;
    while (pairs[2 * slot + 1] !== 0) slot = (slot + 1) & mask;
    pairs[2 * slot] = mixed;
    pairs[2 * slot + 1] = entry;
  }

  #grow(): void {
    const before = this.#pairs;
    const mask = this.#mask;
    this.#pairs = new Int32Array(2 * before.length);
    this.#mask = 2 * mask + 1;
    // From behind a gap, so that equal hashes keep their order across the wrap.
    let start = 0;
    while (before[2 * start + 1] !== 0) start += 1;
    for (let step = 0; step <= mask; step++) {
      const slot = (start + step) & mask;
      const entry = before[2 * slot + 1] as number;
      if (entry !== 0) this.#insert(before[2 * slot] as number, entry);
    }
  }
}

/** All 53 bits into 32, well spread in the low ones. */
function mix(hash: number): number {
  let mixed = Math.imul((hash ^ (hash / 0x1_0000_0000)) | 0, 0x45d9f3b);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0x2c1b3c6d);
  return mixed ^ (mixed >>> 12);
}
