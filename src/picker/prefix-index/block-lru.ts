import type { PromptBlocks } from '../../framework/request.ts';
import { BlockTable } from './block-table.ts';

const NONE = -1;
const INITIAL_ENTRIES = 256;

/**
 * The prefix blocks that one endpoint is expected to hold. Bounded: the least recently used block
 * is forgotten first, but none that is pinned.
 *
 * A chain is always touched from its tail to its head, so a block is never older than its
 * descendants and is never forgotten before them. Therefore binary search finds the matched prefix
 * of a prompt: a prompt of a thousand blocks costs eleven look-ups per endpoint.
 *
 * 28 to 56 bytes a block in typed arrays, which double, and no work for the garbage collector.
 */
export class BlockLru {
  #capacity: number;
  readonly #table = new BlockTable();
  /** By entry of the table: its neighbours in the order of last use, or NONE. */
  #older = new Int32Array(INITIAL_ENTRIES);
  #newer = new Int32Array(INITIAL_ENTRIES);
  /** By entry: how many requests have pinned it. */
  #pins = new Int32Array(INITIAL_ENTRIES);
  #pinned = 0;
  #newest = NONE;
  #oldest = NONE;

  /** `capacity` in blocks, at least 1. */
  constructor(capacity: number) {
    this.#capacity = Math.max(1, Math.floor(capacity));
  }

  get size(): number {
    return this.#table.size;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** A smaller capacity forgets the oldest blocks at once; pinned ones stay. */
  setCapacity(capacity: number): void {
    this.#capacity = Math.max(1, Math.floor(capacity));
    this.#trim();
  }

  clear(): void {
    this.#table.clear();
    this.#pinned = 0;
    this.#newest = NONE;
    this.#oldest = NONE;
  }

  /** How many blocks of the chain are held without a gap, counted from the first. */
  matchedBlocks({ count, words }: PromptBlocks): number {
    return this.#table.matchedPrefix(words, count);
  }

  /** Makes the whole chain the most recent; keeps the head of one for which there is no room. */
  touch(chain: PromptBlocks): void {
    for (let block = this.#fitting(chain) - 1; block >= 0; block--) this.#touchBlock(chain, block);
  }

  /**
   * Touches the chain of a request that begins, and pins what there is room for: the engine forgets
   * no block that a request uses. Returns how many blocks are pinned, for `unpin`.
   */
  pin(chain: PromptBlocks): number {
    const pinned = this.#fitting(chain);
    for (let block = pinned - 1; block >= 0; block--) {
      const entry = this.#touchBlock(chain, block);
      if (this.#pins[entry] === 0) this.#pinned += 1;
      this.#pins[entry] = (this.#pins[entry] as number) + 1;
    }
    return pinned;
  }

  /**
   * Touches the first `pinned` blocks of a chain whose request has ended, and unpins them. Only with
   * what `pin` returned for this chain, once, and not after `clear`.
   */
  unpin(chain: PromptBlocks, pinned: number): void {
    for (let block = pinned - 1; block >= 0; block--) {
      const entry = this.#touchBlock(chain, block);
      this.#pins[entry] = (this.#pins[entry] as number) - 1;
      if (this.#pins[entry] === 0) this.#pinned -= 1;
    }
    // The capacity may have become smaller meanwhile.
    this.#trim();
  }

  /** The words of the `count` newest blocks, newest first. */
  newest(count: number): Uint32Array {
    const words = new Uint32Array(2 * Math.min(count, this.#table.size));
    let entry = this.#newest;
    for (let at = 0; at < words.length; at += 2) {
      words[at] = this.#table.low(entry);
      words[at + 1] = this.#table.high(entry);
      entry = this.#older[entry] as number;
    }
    return words;
  }

  /**
   * Adds the blocks of another index, in the order of its `newest`, as older than all that is here,
   * as far as there is room. Blocks that are here keep their place.
   */
  addOlder(words: Uint32Array): void {
    for (let at = 0; at + 1 < words.length && this.#table.size < this.#capacity; at += 2) {
      const low = words[at] as number;
      const high = words[at + 1] as number;
      if (this.#table.find(low, high) !== NONE) continue;
      const entry = this.#insert(low, high);
      this.#newer[entry] = this.#oldest;
      this.#older[entry] = NONE;
      if (this.#oldest === NONE) this.#newest = entry;
      else this.#older[this.#oldest] = entry;
      this.#oldest = entry;
    }
  }

  /** How many blocks of a chain there is room for beside what is pinned and not of this chain. */
  #fitting(chain: PromptBlocks): number {
    const room = Math.max(0, this.#capacity - this.#pinned);
    if (chain.count <= room || this.#pinned === 0) return Math.min(chain.count, room);
    return Math.min(chain.count, room + this.#pinnedBlocks(chain));
  }

  /** How many blocks of the chain are pinned, counted from the first. */
  #pinnedBlocks({ count, words }: PromptBlocks): number {
    let block = 0;
    for (; block < count; block++) {
      const entry = this.#table.find(words[2 * block] as number, words[2 * block + 1] as number);
      if (entry === NONE || this.#pins[entry] === 0) break;
    }
    return block;
  }

  /** Returns the block's entry, which is the newest then. */
  #touchBlock({ words }: PromptBlocks, block: number): number {
    const low = words[2 * block] as number;
    const high = words[2 * block + 1] as number;
    const known = this.#table.find(low, high);
    if (known === NONE) return this.#add(low, high);
    this.#renew(known);
    return known;
  }

  #add(low: number, high: number): number {
    if (this.#table.size >= this.#capacity) this.#forgetOldest();
    const entry = this.#insert(low, high);
    this.#link(entry);
    return entry;
  }

  /** The number of the new entry, which has no neighbours yet. */
  #insert(low: number, high: number): number {
    const entry = this.#table.size;
    if (entry === this.#older.length) this.#grow();
    this.#table.setKey(entry, low, high);
    this.#pins[entry] = 0;
    this.#table.insert(entry);
    return entry;
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

  #trim(): void {
    while (this.#table.size > Math.max(this.#capacity, this.#pinned)) this.#forgetOldest();
  }

  /** Forgets the oldest block that is not pinned; there must be one. */
  #forgetOldest(): void {
    while ((this.#pins[this.#oldest] as number) > 0) this.#renew(this.#oldest);
    const entry = this.#oldest;
    this.#unlink(entry);
    this.#table.remove(entry);
    const last = this.#table.size;
    if (entry !== last) this.#move(last, entry);
  }

  /** Entries stay dense: the last one takes the freed number. */
  #move(from: number, to: number): void {
    this.#table.renumber(from, to);
    const older = this.#older[from] as number;
    const newer = this.#newer[from] as number;
    this.#older[to] = older;
    this.#newer[to] = newer;
    this.#pins[to] = this.#pins[from] as number;
    if (older === NONE) this.#oldest = to;
    else this.#newer[older] = to;
    if (newer === NONE) this.#newest = to;
    else this.#older[newer] = to;
  }

  #grow(): void {
    const [older, newer, pins] = [this.#older, this.#newer, this.#pins];
    this.#older = new Int32Array(2 * older.length);
    this.#newer = new Int32Array(2 * newer.length);
    this.#pins = new Int32Array(2 * pins.length);
    this.#older.set(older);
    this.#newer.set(newer);
    this.#pins.set(pins);
  }
}
