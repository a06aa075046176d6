import { withRoom } from './with-room.ts';

const NONE = -1;
const INITIAL_ENTRIES = 256;
/** At most one entry for each two slots: this keeps linear probing short. */
const SLOTS_PER_ENTRY = 2;
/** Slots that are emptied with each insertion after the table has grown: two would be enough. */
const MOVED_SLOTS = 8;

/**
 * Finds entry numbers by 64-bit keys of two words; the low words must be spread evenly. The caller
 * numbers the entries from 0. Several may have equal keys: `find` returns one of them. Open
 * addressing with linear probing over typed arrays: 16 bytes an entry, no garbage. When it grows,
 * its entries move to the new slots bit by bit, so that no insertion waits for all of them.
 */
export class BlockTable {
  #low = new Int32Array(INITIAL_ENTRIES);
  #high = new Int32Array(INITIAL_ENTRIES);
  /** Entry numbers and 1, or 0. The length is a power of two. */
  #slots = new Int32Array(SLOTS_PER_ENTRY * INITIAL_ENTRIES);
  /** The slots before it grew, from `#moved` on, while entries are left there. */
  #former: Int32Array | undefined;
  #moved = 0;
  #size = 0;

  /** The number of inserted entries. */
  get size(): number {
    return this.#size;
  }

  low(entry: number): number {
    return (this.#low[entry] as number) >>> 0;
  }

  high(entry: number): number {
    return (this.#high[entry] as number) >>> 0;
  }

  /** An inserted entry with this key, or -1. */
  find(low: number, high: number): number {
    const entry = this.#findIn(this.#slots, low | 0, high | 0);
    if (entry !== NONE || this.#former === undefined) return entry;
    return this.#findIn(this.#former, low | 0, high | 0);
  }

  /** Whether block `index` of `words` is inserted: its key is words 2 × index and the next one. */
  has(words: Uint32Array, index: number): boolean {
    return this.find(words[2 * index] as number, words[2 * index + 1] as number) !== NONE;
  }

  /**
   * How many of a chain's first `count` blocks are inserted. Only for tables in which a block is
   * never inserted without those before it in its chain: so binary search finds the end.
   */
  matchedPrefix(words: Uint32Array, count: number): number {
    if (this.#size === 0 || count === 0 || !this.has(words, 0)) return 0;
    // Gallop first: most prompts match little or nearly all.
    let held = 0;
    let step = 1;
    while (held + step < count && this.has(words, held + step)) {
      held += step;
      step *= 2;
    }
    let missing = Math.min(held + step, count);
    if (missing === count && this.has(words, count - 1)) return count;
    while (missing - held > 1) {
      const middle = (held + missing) >>> 1;
      if (this.has(words, middle)) held = middle;
      else missing = middle;
    }
    return held + 1;
  }

  /** Sets the key of an entry that is not inserted. */
  setKey(entry: number, low: number, high: number): void {
    if (entry >= this.#low.length) {
      this.#low = withRoom(this.#low, entry + 1);
      this.#high = withRoom(this.#high, entry + 1);
    }
    while (SLOTS_PER_ENTRY * entry >= this.#slots.length) this.#grow();
    this.#low[entry] = low;
    this.#high[entry] = high;
  }

  /** Inserts an entry, which must not be inserted yet, under its key. */
  insert(entry: number): void {
    this.#size += 1;
    this.#place(entry);
    if (this.#former !== undefined) this.#move(this.#former, MOVED_SLOTS);
  }

  /** Removes an inserted entry. It keeps its key. */
  remove(entry: number): void {
    this.#size -= 1;
    const slot = this.#slotIn(this.#slots, entry);
    if (slot !== NONE) this.#vacate(this.#slots, slot);
    else if (this.#former !== undefined) {
      this.#vacate(this.#former, this.#slotIn(this.#former, entry));
    }
  }

  /** Gives the memory back, too: to empty large tables over and over again would take long. */
  clear(): void {
    this.#low = new Int32Array(INITIAL_ENTRIES);
    this.#high = new Int32Array(INITIAL_ENTRIES);
    this.#slots = new Int32Array(SLOTS_PER_ENTRY * INITIAL_ENTRIES);
    this.#former = undefined;
    this.#size = 0;
  }

  #findIn(slots: Int32Array, low: number, high: number): number {
    const lows = this.#low;
    const mask = slots.length - 1;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const entry = (slots[slot] as number) - 1;
      if (entry === NONE || (lows[entry] === low && this.#high[entry] === high)) return entry;
    }
  }

  #slotIn(slots: Int32Array, entry: number): number {
    const mask = slots.length - 1;
    for (let slot = (this.#low[entry] as number) & mask; ; slot = (slot + 1) & mask) {
      if (slots[slot] === entry + 1) return slot;
      if (slots[slot] === 0) return NONE;
    }
  }

  #place(entry: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = (this.#low[entry] as number) & mask;
    while (slots[slot] !== 0) slot = (slot + 1) & mask;
    slots[slot] = entry + 1;
  }

  /** Closes the gap that a removal leaves in a run of probes, so that no look-up ends too early. */
  #vacate(slots: Int32Array, slot: number): void {
    const mask = slots.length - 1;
    let hole = slot;
    for (let next = (hole + 1) & mask; ; next = (next + 1) & mask) {
      const entry = (slots[next] as number) - 1;
      if (entry === NONE) break;
      const home = (this.#low[entry] as number) & mask;
      if (((next - home) & mask) >= ((next - hole) & mask)) {
        slots[hole] = entry + 1;
        hole = next;
      }
    }
    slots[hole] = 0;
  }

  #grow(): void {
    if (this.#former !== undefined) this.#move(this.#former, this.#former.length);
    this.#former = this.#slots;
    this.#moved = 0;
    // Memory that was not used yet is made when it is: a longer array of zeros costs little.
    this.#slots = new Int32Array(2 * this.#slots.length);
  }

  /** Empties so many of the former slots. Those that are left keep their runs of probes whole. */
  #move(former: Int32Array, count: number): void {
    const end = Math.min(this.#moved + count, former.length);
    while (this.#moved < end) {
      const entry = (former[this.#moved] as number) - 1;
      if (entry === NONE) this.#moved += 1;
      else {
        this.#vacate(former, this.#moved);
        this.#place(entry);
      }
    }
    if (end === former.length) this.#former = undefined;
  }
}
