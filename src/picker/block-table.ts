const NONE = -1;
const ENTRIES_AT_FIRST = 256;
/** Slots to each entry at most: linear probing stays short below this load. */
const SLOTS_PER_ENTRY = 2;

/**
 * Finds entry numbers by 64-bit keys of two words. Several entries may have the same key; `find` gives one of them.
 * Open addressing with linear probing over typed arrays: nothing for the garbage collector.
 */
export class BlockTable {
  #low = new Uint32Array(ENTRIES_AT_FIRST);
  #high = new Uint32Array(ENTRIES_AT_FIRST);
  #slots = new Int32Array(SLOTS_PER_ENTRY * ENTRIES_AT_FIRST).fill(NONE);
  #size = 0;

  /** Entries that can be found. */
  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#low.byteLength + this.#high.byteLength + this.#slots.byteLength;
  }

  low(entry: number): number {
    return this.#low[entry] as number;
  }

  high(entry: number): number {
    return this.#high[entry] as number;
  }

  /** An entry with this key, or -1. */
  find(low: number, high: number): number {
    const mask = this.#slots.length - 1;
    let slot = homeOf(low, high) & mask;
    for (;;) {
      const entry = this.#slots[slot] as number;
      if (entry === NONE || (this.#low[entry] === low && this.#high[entry] === high)) return entry;
      slot = (slot + 1) & mask;
    }
  }

  /** The entry's key, which `insert` makes findable. */
  setKey(entry: number, low: number, high: number): void {
    if (entry >= this.#low.length) this.#grow(entry);
    this.#low[entry] = low;
    this.#high[entry] = high;
  }

  /** The entry must not be in the table yet. */
  insert(entry: number): void {
    this.#size += 1;
    this.#place(entry);
  }

  /** The entry must be in the table. */
  remove(entry: number): void {
    this.#size -= 1;
    const mask = this.#slots.length - 1;
    let slot = homeOf(this.low(entry), this.high(entry)) & mask;
    while (this.#slots[slot] !== entry) slot = (slot + 1) & mask;
    this.#vacate(slot);
  }

  clear(): void {
    this.#size = 0;
    this.#slots.fill(NONE);
  }

  #place(entry: number): void {
    const mask = this.#slots.length - 1;
    let slot = homeOf(this.low(entry), this.high(entry)) & mask;
    while (this.#slots[slot] !== NONE) slot = (slot + 1) & mask;
    this.#slots[slot] = entry;
  }

  /** Closes the gap that a removal leaves in a run of probes, so that no look-up stops short. */
  #vacate(slot: number): void {
    const mask = this.#slots.length - 1;
    let hole = slot;
    for (let next = (hole + 1) & mask; ; next = (next + 1) & mask) {
      const entry = this.#slots[next] as number;
      if (entry === NONE) break;
      const home = homeOf(this.low(entry), this.high(entry)) & mask;
      if (((next - home) & mask) >= ((next - hole) & mask)) {
        this.#slots[hole] = entry;
        hole = next;
      }
    }
    this.#slots[hole] = NONE;
  }

  #grow(entry: number): void {
    let length = this.#low.length;
    while (length <= entry) length *= 2;
    const low = new Uint32Array(length);
    const high = new Uint32Array(length);
    low.set(this.#low);
    high.set(this.#high);
    this.#low = low;
    this.#high = high;
    const placed = this.#slots.filter((each) => each !== NONE);
    this.#slots = new Int32Array(SLOTS_PER_ENTRY * length).fill(NONE);
    for (const each of placed) this.#place(each);
  }
}

/** Engines choose their hashes, and some count; spread them. */
function homeOf(low: number, high: number): number {
  const mixed = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}
