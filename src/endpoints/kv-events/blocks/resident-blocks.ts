import type { KeyedHash } from '../../../framework/values/keyed-hash.ts';
import { BlockTable } from '../../../picker/prefix-index/block-table.ts';
import { withRoom } from '../../../picker/prefix-index/with-room.ts';

const NONE = -1;
const INITIAL_BLOCKS = 256;
/** The tiers a block can be in at once: accelerator, host, disk, and one more. */
export const TIERS_MAX = 4;
/** The counter's maximum. Only wrong events store a block more often. */
const COPIES_MAX = 0xffff;

/** The room that is left for the blocks of all endpoints together. */
export interface BlockRoom {
  left: number;
}

/**
 * An endpoint may hold at most so many times the room that is left. One whose events never end
 * takes two thirds of the room and no more; eight that are equal take sixteen parts of seventeen.
 */
const SHARE_OF_ROOM_LEFT = 2;

/** Sets the engine's hashes apart from other inputs of the keyed hash. */
const ENGINE_HASH_TAG = 0x656e6769;
const hashWords = Int32Array.of(0, 0, ENGINE_HASH_TAG);

interface Words {
  readonly low: number;
  readonly high: number;
}

/**
 * The exact content of one engine's prefix cache. A block is found by the engine's hash, which
 * events name, and by our key, computed from tokens. It is held while any tier has a copy. Engines
 * evict the end of a chain first, so binary search finds a prompt's match. A block removed before
 * its children is a ghost until they are removed; while there are any, the match is found block by
 * block.
 */
export class ResidentBlocks {
  readonly #room: BlockRoom;
  readonly #hash: KeyedHash;
  /**
   * Blocks held and ghosts, by the engine's hash, hashed again: an engine may choose its hashes.
   */
  readonly #byHash = new BlockTable();
  /** Blocks held, by our key. */
  readonly #byKey = new BlockTable();
  /** By block: its parent or NONE, the number of its children, and its copies in each tier. */
  #parent = new Int32Array(INITIAL_BLOCKS);
  #children = new Int32Array(INITIAL_BLOCKS);
  #copies = new Uint16Array(TIERS_MAX * INITIAL_BLOCKS);
  /** Block numbers that were used and are free again. */
  #free: number[] = [];
  #used = 0;
  /** Held blocks without a copy in tier 0. */
  #outsideTier0 = 0;

  /** Where `room` has too little left for this endpoint's share, no block is added. */
  constructor(room: BlockRoom, hash: KeyedHash) {
    this.#room = room;
    this.#hash = hash;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** The number of blocks that are kept only because of their children. */
  get ghosts(): number {
    return this.#byHash.size - this.#byKey.size;
  }

  /** The block with this hash of the engine, held or a ghost, or -1. */
  find(hashLow: number, hashHigh: number): number {
    this.#hashEngine(hashLow, hashHigh);
    return this.#byHash.find(this.#hash.low >>> 0, this.#hash.high >>> 0);
  }

  /** What places the block's hash among the slots of its table. */
  slotWord(block: number): number {
    return this.#byHash.low(block);
  }

  keyLow(block: number): number {
    return this.#byKey.low(block);
  }

  keyHigh(block: number): number {
    return this.#byKey.high(block);
  }

  /** Adds an unknown block, without copies. Returns -1 without room. `parent` is a block or -1. */
  add(hash: Words, key: Words, parent: number): number {
    if (this.#byHash.size >= SHARE_OF_ROOM_LEFT * this.#room.left) return NONE;
    this.#room.left -= 1;
    const block = this.#free.pop() ?? this.#used++;
    if (block >= this.#parent.length) this.#grow();
    this.#hashEngine(hash.low, hash.high);
    this.#byHash.setKey(block, this.#hash.low >>> 0, this.#hash.high >>> 0);
    this.#byKey.setKey(block, key.low, key.high);
    this.#byHash.insert(block);
    this.#parent[block] = parent;
    this.#children[block] = 0;
    this.#copies.fill(0, TIERS_MAX * block, TIERS_MAX * (block + 1));
    if (parent !== NONE) this.#children[parent] = (this.#children[parent] as number) + 1;
    return block;
  }

  /** Adds a copy of a block in a tier below `TIERS_MAX`. */
  addCopy(block: number, tier: number): void {
    const wasHeld = this.#isHeld(block);
    const copies = this.#copies[TIERS_MAX * block + tier] as number;
    this.#setCopies(block, tier, Math.min(COPIES_MAX, copies + 1));
    if (!wasHeld) this.#byKey.insert(block);
  }

  /** The copies of a block in a tier. */
  copies(block: number, tier: number): number {
    return this.#copies[TIERS_MAX * block + tier] as number;
  }

  /** Removes a copy of a block. Returns false where the tier has none. */
  removeCopy(block: number, tier: number): boolean {
    const copies = this.#copies[TIERS_MAX * block + tier] as number;
    if (copies === 0) return false;
    this.#setCopies(block, tier, copies - 1);
    if (this.#isHeld(block)) return true;
    this.#byKey.remove(block);
    this.#forgetUnused(block);
    return true;
  }

  clear(): void {
    // Nothing was added since the last time.
    if (this.#used === 0) return;
    this.#room.left += this.#byHash.size;
    this.#byHash.clear();
    this.#byKey.clear();
    this.#parent = new Int32Array(INITIAL_BLOCKS);
    this.#children = new Int32Array(INITIAL_BLOCKS);
    this.#copies = new Uint16Array(TIERS_MAX * INITIAL_BLOCKS);
    this.#free = [];
    this.#used = 0;
    this.#outsideTier0 = 0;
  }

  /** How many of the first `count` blocks of a chain are held, up to the first that is not. */
  prefixBlocks(keys: Uint32Array, count: number): number {
    if (this.ghosts === 0) return this.#byKey.matchedPrefix(keys, count);
    let held = 0;
    while (held < count && this.#byKey.has(keys, held)) held += 1;
    return held;
  }

  /** How many of the first `count` blocks have a copy in a tier, up to the first without one. */
  prefixInTier(keys: Uint32Array, count: number, tier: number): number {
    const blocks = this.prefixBlocks(keys, count);
    for (let at = 0; at < blocks; at++) {
      const block = this.#byKey.find(keys[2 * at] as number, keys[2 * at + 1] as number);
      if (this.#copies[TIERS_MAX * block + tier] === 0) return at;
    }
    return blocks;
  }

  /** The weights of the held ones, each that of the best of its tiers. */
  weighedPrefix(keys: Uint32Array, count: number, weights: readonly number[]): number {
    const blocks = this.prefixBlocks(keys, count);
    const [first = 1] = weights;
    if (this.#outsideTier0 === 0 && weights.every((weight) => weight <= first)) {
      return blocks * first;
    }
    let sum = 0;
    for (let at = 0; at < blocks; at++) {
      const block = this.#byKey.find(keys[2 * at] as number, keys[2 * at + 1] as number);
      sum += this.#weight(block, weights);
    }
    return sum;
  }

  #hashEngine(low: number, high: number): void {
    hashWords[0] = low;
    hashWords[1] = high;
    this.#hash.words(hashWords, hashWords.length);
  }

  #weight(block: number, weights: readonly number[]): number {
    let best = 0;
    for (let tier = 0; tier < TIERS_MAX; tier++) {
      if (this.#copies[TIERS_MAX * block + tier] === 0) continue;
      best = Math.max(best, weights[tier] ?? 1);
    }
    return best;
  }

  #isHeld(block: number): boolean {
    for (let tier = 0; tier < TIERS_MAX; tier++) {
      if (this.#copies[TIERS_MAX * block + tier] !== 0) return true;
    }
    return false;
  }

  #setCopies(block: number, tier: number, copies: number): void {
    const before = this.#isOutsideTier0(block);
    this.#copies[TIERS_MAX * block + tier] = copies;
    this.#outsideTier0 += Number(this.#isOutsideTier0(block)) - Number(before);
  }

  #isOutsideTier0(block: number): boolean {
    return this.#copies[TIERS_MAX * block] === 0 && this.#isHeld(block);
  }

  /** Forgets a block without copies and children, and then parents of which that is true, too. */
  #forgetUnused(block: number): void {
    let unused = block;
    while (unused !== NONE && this.#children[unused] === 0 && !this.#isHeld(unused)) {
      this.#byHash.remove(unused);
      this.#room.left += 1;
      this.#free.push(unused);
      const parent = this.#parent[unused] as number;
      if (parent !== NONE) this.#children[parent] = (this.#children[parent] as number) - 1;
      unused = parent;
    }
  }

  #grow(): void {
    this.#parent = withRoom(this.#parent, this.#parent.length + 1);
    this.#children = withRoom(this.#children, this.#parent.length);
    this.#copies = withRoom(this.#copies, TIERS_MAX * this.#parent.length);
  }
}
