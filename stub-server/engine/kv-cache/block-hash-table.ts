/** Initial number of slots. A process has hundreds of tables, and most of them stay small. */
const SLOTS_MIN = 64;

/**
 * Content hash → block, with open addressing over one typed array: a `Map` boxes each 53-bit key,
 * and cache misses dominate a lookup. As in vLLM, several blocks can share a hash.
 */
export class BlockHashTable {
  /** Pairs of [mixed hash, block + 1]; an empty slot has 0 in the place of the block. */
  #pairs: Int32Array = new Int32Array(2 * SLOTS_MIN);
  #mask: number = SLOTS_MIN - 1;
  /** Slots in use, one for each distinct hash. */
  #used = 0;
  #size = 0;
  /** Later blocks of a hash. A prompt that ends with a full block adds one at each repeat. */
  readonly #others = new Map<number, Set<number>>();

  get size(): number {
    return this.#size;
  }

  /** The block that was added first, if any. `hashes` gives the content hash of each added block. */
  find(hash: number, hashes: Float64Array): number | undefined {
    const entry = this.#entryAt(this.#slotOf(hash, hashes));
    return entry === 0 ? undefined : entry - 1;
  }

  /** Adds a block; `hashes[block]` must be `hash` already. */
  add(hash: number, block: number, hashes: Float64Array): void {
    this.#size += 1;
    const slot = this.#slotOf(hash, hashes);
    if (this.#entryAt(slot) === 0) {
      this.#put(slot, mix(hash), block + 1);
      this.#used += 1;
      if (2 * this.#used > this.#mask) this.#grow();
      return;
    }
    const others = this.#others.get(hash);
    if (others === undefined) this.#others.set(hash, new Set([block]));
    else others.add(block);
  }

  /** Removes one block, which must be in the table; others of the same content stay. */
  remove(hash: number, block: number, hashes: Float64Array): void {
    this.#size -= 1;
    const others = this.#others.size === 0 ? undefined : this.#others.get(hash);
    if (others === undefined) {
      this.#used -= 1;
      this.#closeGap(this.#slotHolding(block, mix(hash)));
      return;
    }
    const slot = this.#slotOf(hash, hashes);
    if (this.#entryAt(slot) === block + 1) {
      const [next = 0] = others;
      others.delete(next);
      this.#put(slot, mix(hash), next + 1);
    } else others.delete(block);
    if (others.size === 0) this.#others.delete(hash);
  }

  clear(): void {
    this.#pairs = new Int32Array(2 * SLOTS_MIN);
    this.#mask = SLOTS_MIN - 1;
    this.#used = 0;
    this.#size = 0;
    this.#others.clear();
  }

  /** The slot of this hash, or the empty slot where it would be inserted. */
  #slotOf(hash: number, hashes: Float64Array): number {
    const pairs = this.#pairs;
    const mask = this.#mask;
    const mixed = mix(hash);
    for (let slot = mixed & mask; ; slot = (slot + 1) & mask) {
      const entry = pairs[2 * slot + 1] as number;
      if (entry === 0 || (pairs[2 * slot] === mixed && hashes[entry - 1] === hash)) return slot;
    }
  }

  /** The slot of a block that is in the table, found without a read of its content hash. */
  #slotHolding(block: number, mixed: number): number {
    const pairs = this.#pairs;
    const mask = this.#mask;
    let slot = mixed & mask;
    while (pairs[2 * slot + 1] !== block + 1) slot = (slot + 1) & mask;
    return slot;
  }

  #entryAt(slot: number): number {
    return this.#pairs[2 * slot + 1] as number;
  }

  #put(slot: number, mixed: number, entry: number): void {
    this.#pairs[2 * slot] = mixed;
    this.#pairs[2 * slot + 1] = entry;
  }

  /** Moves entries back that a gap would hide, so the table needs no tombstones and no rebuild. */
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

  #grow(): void {
    const before = this.#pairs;
    this.#pairs = new Int32Array(2 * before.length);
    this.#mask = 2 * this.#mask + 1;
    for (let at = 0; at < before.length; at += 2) {
      const mixed = before[at] as number;
      const entry = before[at + 1] as number;
      if (entry === 0) continue;
      let slot = mixed & this.#mask;
      while (this.#entryAt(slot) !== 0) slot = (slot + 1) & this.#mask;
      this.#put(slot, mixed, entry);
    }
  }
}

/** Mixes all 53 bits into 32, well spread in the low bits. */
function mix(hash: number): number {
  let mixed = Math.imul((hash ^ (hash / 0x1_0000_0000)) | 0, 0x45d9f3b);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0x2c1b3c6d);
  return mixed ^ (mixed >>> 12);
}
