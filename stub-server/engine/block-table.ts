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
  /** Slots in use: one for each hash. */
  #used = 0;
  #size = 0;
  /**
   * Blocks of a hash beyond the first, in order. Outside the table, because there can be thousands: a prompt that ends
   * with its block computes that block again each time it comes.
   */
  readonly #others = new Map<number, Set<number>>();

  get size(): number {
    return this.#size;
  }

  /** The block with this content, or -1. `hashes` says what each block added has. */
  find(hash: number, hashes: Float64Array): number {
    return this.#entryAt(this.#slotOf(hash, hashes)) - 1;
  }

  /** `hashes` says so of `block` already. */
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

  /** Forgets one block; others of the same content stay. It must be there. */
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

  /** Where this hash is, or the empty slot where it would be. */
  #slotOf(hash: number, hashes: Float64Array): number {
    const pairs = this.#pairs;
    const mask = this.#mask;
    const mixed = mix(hash);
    for (let slot = mixed & mask; ; slot = (slot + 1) & mask) {
      const entry = pairs[2 * slot + 1] as number;
      if (entry === 0 || (pairs[2 * slot] === mixed && hashes[entry - 1] === hash)) return slot;
    }
  }

  /** As `#slotOf`, where the block is known to be: without a look at what it has. */
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

/** All 53 bits into 32, well spread in the low ones. */
function mix(hash: number): number {
  let mixed = Math.imul((hash ^ (hash / 0x1_0000_0000)) | 0, 0x45d9f3b);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0x2c1b3c6d);
  return mixed ^ (mixed >>> 12);
}
