import type { PromptBlocks } from '../framework/request.ts';

const NONE = -1;
const ENTRIES_AT_FIRST = 256;

/**
 * The prefix blocks one endpoint is thought to hold, bounded, least recently used forgotten first.
 *
 * A chain is always touched from its tail to its head, so a block is never older than its descendants and never
 * forgotten before them. What is held is therefore closed under "parent of": the matched prefix of a prompt can be
 * found by binary search, and a thousand-block prompt costs eleven look-ups an endpoint.
 *
 * Open addressing with linear probing over typed arrays: 24 bytes a block and nothing for the garbage collector.
 */
export class BlockLru {
  #capacity: number;
  #size = 0;
  #low = new Uint32Array(ENTRIES_AT_FIRST);
  #high = new Uint32Array(ENTRIES_AT_FIRST);
  #older = new Int32Array(ENTRIES_AT_FIRST);
  #newer = new Int32Array(ENTRIES_AT_FIRST);
  /** Entry number, or NONE. Twice as long as the entries, a power of two. */
  #table = new Int32Array(2 * ENTRIES_AT_FIRST).fill(NONE);
  #newest = NONE;
  #oldest = NONE;

  /** `capacity` in blocks, at least 1. */
  constructor(capacity: number) {
    this.#capacity = Math.max(1, Math.floor(capacity));
  }

  get size(): number {
    return this.#size;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** Forgets the oldest at once when the capacity shrinks. */
  setCapacity(capacity: number): void {
    this.#capacity = Math.max(1, Math.floor(capacity));
    while (this.#size > this.#capacity) this.#forgetOldest();
  }

  clear(): void {
    this.#size = 0;
    this.#newest = NONE;
    this.#oldest = NONE;
    this.#table.fill(NONE);
  }

  /** How many blocks from the first on are held. Changes nothing. */
  matchedBlocks({ count, words }: PromptBlocks): number {
    if (this.#size === 0 || count === 0 || !this.#has(words, 0)) return 0;
    // Gallop first: most prompts match little or nearly all.
    let held = 0;
    let step = 1;
    while (held + step < count && this.#has(words, held + step)) {
      held += step;
      step *= 2;
    }
    let missing = Math.min(held + step, count);
    if (missing === count && this.#has(words, count - 1)) return count;
    while (missing - held > 1) {
      const middle = (held + missing) >>> 1;
      if (this.#has(words, middle)) held = middle;
      else missing = middle;
    }
    return held + 1;
  }

  /** Makes the whole chain the most recent. Of a chain longer than the capacity only the head is kept. */
  touch({ count, words }: PromptBlocks): void {
    for (let block = Math.min(count, this.#capacity) - 1; block >= 0; block--) {
      const low = words[2 * block] as number;
      const high = words[2 * block + 1] as number;
      const position = this.#find(low, high);
      const entry = this.#table[position] as number;
      if (entry === NONE) this.#add(low, high);
      else this.#renew(entry);
    }
  }

  #has(words: Uint32Array, block: number): boolean {
    const position = this.#find(words[2 * block] as number, words[2 * block + 1] as number);
    return this.#table[position] !== NONE;
  }

  /** The table position that holds the block, or the free one where it would go. */
  #find(low: number, high: number): number {
    const mask = this.#table.length - 1;
    let position = low & mask;
    for (;;) {
      const entry = this.#table[position] as number;
      if (entry === NONE || (this.#low[entry] === low && this.#high[entry] === high)) {
        return position;
      }
      position = (position + 1) & mask;
    }
  }

  #add(low: number, high: number): void {
    if (this.#size === this.#capacity) this.#forgetOldest();
    if (this.#size === this.#low.length) this.#grow();
    const entry = this.#size++;
    this.#low[entry] = low;
    this.#high[entry] = high;
    this.#table[this.#find(low, high)] = entry;
    this.#link(entry);
  }

  #renew(entry: number): void {
    if (entry === this.#newest) return;
    this.#unlink(entry);
    this.#link(entry);
  }

  #link(entry: number): void {
    this.#older[entry] = this.#newest;
    this.#newer[entry] = NONE;
    if (this.#newest === NONE) this.#oldest = entry;
    else this.#newer[this.#newest] = entry;
    this.#newest = entry;
  }

  #unlink(entry: number): void {
    const older = this.#older[entry] as number;
    const newer = this.#newer[entry] as number;
    if (older === NONE) this.#oldest = newer;
    else this.#newer[older] = newer;
    if (newer === NONE) this.#newest = older;
    else this.#older[newer] = older;
  }

  #forgetOldest(): void {
    const entry = this.#oldest;
    this.#unlink(entry);
    this.#vacate(this.#find(this.#low[entry] as number, this.#high[entry] as number));
    const last = --this.#size;
    if (entry !== last) this.#move(last, entry);
  }

  /** Closes the gap that a removal leaves in a run of probes, so that no look-up stops short. */
  #vacate(position: number): void {
    const mask = this.#table.length - 1;
    let hole = position;
    for (let next = (hole + 1) & mask; ; next = (next + 1) & mask) {
      const entry = this.#table[next] as number;
      if (entry === NONE) break;
      const home = (this.#low[entry] as number) & mask;
      if (((next - home) & mask) >= ((next - hole) & mask)) {
        this.#table[hole] = entry;
        hole = next;
      }
    }
    this.#table[hole] = NONE;
  }

  /** Entries stay dense: the last one takes the freed number. */
  #move(from: number, to: number): void {
    const low = this.#low[from] as number;
    const high = this.#high[from] as number;
    const position = this.#find(low, high);
    this.#low[to] = low;
    this.#high[to] = high;
    this.#table[position] = to;
    const older = this.#older[from] as number;
    const newer = this.#newer[from] as number;
    this.#older[to] = older;
    this.#newer[to] = newer;
    if (older === NONE) this.#oldest = to;
    else this.#newer[older] = to;
    if (newer === NONE) this.#newest = to;
    else this.#older[newer] = to;
  }

  #grow(): void {
    const length = 2 * this.#low.length;
    this.#low = extended(this.#low, new Uint32Array(length));
    this.#high = extended(this.#high, new Uint32Array(length));
    this.#older = extended(this.#older, new Int32Array(length));
    this.#newer = extended(this.#newer, new Int32Array(length));
    this.#table = new Int32Array(2 * length).fill(NONE);
    for (let entry = 0; entry < this.#size; entry++) {
      this.#table[this.#find(this.#low[entry] as number, this.#high[entry] as number)] = entry;
    }
  }
}

function extended<T extends Uint32Array | Int32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
