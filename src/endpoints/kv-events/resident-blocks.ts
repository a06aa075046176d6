import { BlockTable } from '../../picker/block-table.ts';

const NONE = -1;
const ENTRIES_AT_FIRST = 256;
/** Places a block can be in at once: accelerator, host, disk, and one more. */
export const TIERS_MAX = 4;
/** A block told so often is told wrongly; counting on would wrap. */
const COPIES_MAX = 0xffff;

/** Room for blocks that several share. */
export interface BlockRoom {
  left: number;
}

/**
 * The blocks one engine's prefix cache holds, exactly: known by the engine's own hash, which events name, and by our key,
 * which a prompt's tokens give. Each is counted per tier as often as it was stored and not yet removed.
 *
 * Engines evict tails before heads, so what is held is as a rule closed under "parent of" and a prompt's match is found
 * by binary search. A block removed before its children stays here, not held, for as long as one of them is: while there
 * is any such block the match is walked block by block instead. Either way the answer is exact.
 */
export class ResidentBlocks {
  readonly #room: BlockRoom;
  readonly #byHash = new BlockTable();
  /** Only of the blocks held. */
  readonly #byKey = new BlockTable();
  #parent = new Int32Array(ENTRIES_AT_FIRST);
  #children = new Int32Array(ENTRIES_AT_FIRST);
  #copies = new Uint16Array(TIERS_MAX * ENTRIES_AT_FIRST);
  /** Entries that were used and are free again. */
  #free: number[] = [];
  #used = 0;
  /** Held in no tier of full weight. */
  #lesser = 0;

  /** Where there is no room left, nothing is added. */
  constructor(room: BlockRoom) {
    this.#room = room;
  }

  /** Blocks held. */
  get size(): number {
    return this.#byKey.size;
  }

  /** Blocks kept only for their children's sake. */
  get ghosts(): number {
    return this.#byHash.size - this.#byKey.size;
  }

  get bytes(): number {
    const arrays = this.#parent.byteLength + this.#children.byteLength + this.#copies.byteLength;
    return this.#byHash.bytes + this.#byKey.bytes + arrays;
  }

  /** The block with this hash of the engine's, held or a ghost, or -1. */
  find(hashLow: number, hashHigh: number): number {
    return this.#byHash.find(hashLow, hashHigh);
  }

  keyLow(block: number): number {
    return this.#byKey.low(block);
  }

  keyHigh(block: number): number {
    return this.#byKey.high(block);
  }

  /** One copy more, in the first `TIERS_MAX` tiers. */
  addCopy(block: number, tier: number): void {
    const place = TIERS_MAX * block + tier;
    const wasHeld = this.#isHeld(block);
    const wasLesser = wasHeld && this.#copies[TIERS_MAX * block] === 0;
    this.#copies[place] = Math.min(COPIES_MAX, (this.#copies[place] as number) + 1);
    const isLesser = this.#copies[TIERS_MAX * block] === 0;
    this.#lesser += Number(isLesser) - Number(wasLesser);
    if (!wasHeld) this.#byKey.insert(block);
  }

  /** A block not known yet, without a copy; -1 when there is no room. `parent` is a block or -1. */
  add(
    hash: { readonly low: number; readonly high: number },
    key: { readonly low: number; readonly high: number },
    parent: number,
  ): number {
    if (this.#room.left <= 0) return NONE;
    this.#room.left -= 1;
    const block = this.#free.pop() ?? this.#used++;
    if (block >= this.#parent.length) this.#grow();
    this.#byHash.setKey(block, hash.low, hash.high);
    this.#byKey.setKey(block, key.low, key.high);
    this.#byHash.insert(block);
    this.#parent[block] = parent;
    this.#children[block] = 0;
    this.#copies.fill(0, TIERS_MAX * block, TIERS_MAX * (block + 1));
    if (parent !== NONE) this.#children[parent] = (this.#children[parent] as number) + 1;
    return block;
  }

  /** One copy less; false when there is none in this tier. */
  removeCopy(block: number, tier: number): boolean {
    const place = TIERS_MAX * block + tier;
    const copies = this.#copies[place] as number;
    if (copies === 0) return false;
    const wasLesser = this.#copies[TIERS_MAX * block] === 0;
    this.#copies[place] = copies - 1;
    const held = this.#isHeld(block);
    const isLesser = held && this.#copies[TIERS_MAX * block] === 0;
    this.#lesser += Number(isLesser) - Number(wasLesser);
    if (held) return true;
    this.#byKey.remove(block);
    this.#forgetIfUseless(block);
    return true;
  }

  /** Gives back the room. */
  clear(): void {
    this.#room.left += this.#byHash.size;
    this.#byHash.clear();
    this.#byKey.clear();
    this.#free = [];
    this.#used = 0;
    this.#lesser = 0;
  }

  /** How many of the first `count` blocks of a chain are held, from the first on. */
  prefixBlocks(keys: Uint32Array, count: number): number {
    if (this.size === 0 || count === 0 || !this.#holds(keys, 0)) return 0;
    return this.ghosts > 0 ? this.#walk(keys, count) : this.#gallop(keys, count);
  }

  /** The same, each block weighed by the best of the tiers it is in. Tier 0 weighs 1, and no tier more. */
  weighedPrefix(keys: Uint32Array, count: number, weights: readonly number[]): number {
    const blocks = this.prefixBlocks(keys, count);
    if (this.#lesser === 0) return blocks;
    let sum = 0;
    for (let block = 0; block < blocks; block++) {
      sum += this.#weight(
        this.#byKey.find(keys[2 * block] as number, keys[2 * block + 1] as number),
        weights,
      );
    }
    return sum;
  }

  #weight(block: number, weights: readonly number[]): number {
    let best = 0;
    for (let tier = 0; tier < TIERS_MAX; tier++) {
      if (this.#copies[TIERS_MAX * block + tier] === 0) continue;
      best = Math.max(best, weights[tier] ?? 1);
    }
    return best;
  }

  #holds(keys: Uint32Array, block: number): boolean {
    return this.#byKey.find(keys[2 * block] as number, keys[2 * block + 1] as number) !== NONE;
  }

  #walk(keys: Uint32Array, count: number): number {
    let held = 1;
    while (held < count && this.#holds(keys, held)) held += 1;
    return held;
  }

  /** Most prompts match little or nearly all. Block 0 is held. */
  #gallop(keys: Uint32Array, count: number): number {
    let held = 0;
    let step = 1;
    while (held + step < count && this.#holds(keys, held + step)) {
      held += step;
      step *= 2;
    }
    let missing = Math.min(held + step, count);
    if (missing === count && this.#holds(keys, count - 1)) return count;
    while (missing - held > 1) {
      const middle = (held + missing) >>> 1;
      if (this.#holds(keys, middle)) held = middle;
      else missing = middle;
    }
    return held + 1;
  }

  #isHeld(block: number): boolean {
    for (let tier = 0; tier < TIERS_MAX; tier++) {
      if (this.#copies[TIERS_MAX * block + tier] !== 0) return true;
    }
    return false;
  }

  /** A block without copies and children goes, and so may its parents that were waiting for that. */
  #forgetIfUseless(block: number): void {
    let useless = block;
    while (useless !== NONE && this.#children[useless] === 0 && !this.#isHeld(useless)) {
      this.#byHash.remove(useless);
      this.#room.left += 1;
      this.#free.push(useless);
      const parent = this.#parent[useless] as number;
      if (parent !== NONE) this.#children[parent] = (this.#children[parent] as number) - 1;
      useless = parent;
    }
  }

  #grow(): void {
    const length = 2 * this.#parent.length;
    const parent = new Int32Array(length);
    parent.set(this.#parent);
    this.#parent = parent;
    const children = new Int32Array(length);
    children.set(this.#children);
    this.#children = children;
    const copies = new Uint16Array(TIERS_MAX * length);
    copies.set(this.#copies);
    this.#copies = copies;
  }
}
