const NONE = -1;
const INITIAL_ENTRIES = 256;
/** At most one entry for each two slots: this keeps linear probing short. */
const SLOTS_PER_ENTRY = 2;

/**
 * Finds entry numbers by 64-bit keys of two words; the low words must be spread evenly. The caller
 * numbers the entries from 0. Several may have equal keys: `find` returns one of them. Open
 * addressing with linear probing over typed arrays: 16 bytes an entry, no garbage.
 */
export class BlockTable {
  #low = new Uint32Array(INITIAL_ENTRIES);
  #high = new Uint32Array(INITIAL_ENTRIES);
  /** Entry numbers, or NONE. The length is a power of two. */
  #slots = new Int32Array(SLOTS_PER_ENTRY * INITIAL_ENTRIES).fill(NONE);
  #size = 0;

  /** The number of inserted entries. */
  get size(): number {
    return this.#size;
  }

  low(entry: number): number {
    return this.#low[entry] as number;
  }

  high(entry: number): number {
    return this.#high[entry] as number;
  }

  /** An inserted entry with this key, or -1. */
  find(low: number, high: number): number {
    const slots = this.#slots;
    const lows = this.#low;
    const mask = slots.length - 1;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const entry = slots[slot] as number;
      if (entry === NONE || (lows[entry] === low && this.#high[entry] === high)) return entry;
    }
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
    if (entry >= this.#low.length) this.#grow(entry);
    this.#low[entry] = low;
    this.#high[entry] = high;
  }

  /** Inserts an entry, which must not be inserted yet, under its key. */
  insert(entry: number): void {
    this.#size += 1;
    this.#place(entry);
  }

  /** Removes an inserted entry. It keeps its key. */
  remove(entry: number): void {
    this.#size -= 1;
    this.#vacate(this.#slotOf(entry));
  }

  /** Gives the inserted entry `from` the number `to`, which must not be inserted. */
  renumber(from: number, to: number): void {
    this.#slots[this.#slotOf(from)] = to;
    this.#low[to] = this.#low[from] as number;
    this.#high[to] = this.#high[from] as number;
  }

  clear(): void {
    this.#size = 0;
    this.#slots.fill(NONE);
  }

  #slotOf(entry: number): number {
    const mask = this.#slots.length - 1;
    let slot = (this.#low[entry] as number) & mask;
    while (this.#slots[slot] !== entry) slot = (slot + 1) & mask;
    return slot;
  }

  #place(entry: number): void {
    const mask = this.#slots.length - 1;
    let slot = (this.#low[entry] as number) & mask;
    while (this.#slots[slot] !== NONE) slot = (slot + 1) & mask;
    this.#slots[slot] = entry;
  }

  /** Closes the gap that a removal leaves in a run of probes, so that no look-up ends too early. */
  #vacate(slot: number): void {
    const mask = this.#slots.length - 1;
    let hole = slot;
    for (let next = (hole + 1) & mask; ; next = (next + 1) & mask) {
      const entry = this.#slots[next] as number;
      if (entry === NONE) break;
      const home = (this.#low[entry] as number) & mask;
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
    const [low, high] = [new Uint32Array(length), new Uint32Array(length)];
    low.set(this.#low);
    high.set(this.#high);
    this.#low = low;
    this.#high = high;
    const placed = this.#slots.filter((each) => each !== NONE);
    this.#slots = new Int32Array(SLOTS_PER_ENTRY * length).fill(NONE);
    for (const each of placed) this.#place(each);
  }
}
