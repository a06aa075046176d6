import type { PromptBlocks } from '../../framework/request.ts';
import { addListed, listNewest } from './listed-blocks.ts';
import type { PrefixIndex } from './prefix-index.ts';
import { NO_RECORD } from './records.ts';

/**
 * The prefix blocks that one endpoint is expected to hold. Bounded: the least recently used block
 * is forgotten first, but none that is pinned.
 *
 * A chain is always used from its end to its beginning, so a block is never older than those behind
 * it and is never forgotten before them: what is held of a chain has no gap.
 */
export class EndpointBlocks {
  readonly #index: PrefixIndex;
  /** The end of the endpoint's order of use: newer than the newest, older than the oldest. */
  readonly #end: number;
  /** This endpoint's place in what `PrefixIndex.matched` returns. */
  readonly owner: number;
  #capacity: number;
  #usedShare = 0;
  #size = 0;
  #pinned = 0;
  #removed = false;
  /** Blocks that were added so far: the clock by which blocks grow old. */
  #added = 0;
  /**
   * How old the block was that was forgotten last: how many blocks were added since its last use.
   */
  #lifeBlocks = Number.POSITIVE_INFINITY;
  #reused = 0;
  /** The holdings of the chain that is used just now. */
  readonly #path: number[] = [];

  /** `capacity` in blocks, at least 1. */
  constructor(index: PrefixIndex, capacity: number) {
    this.#index = index;
    this.#end = index.addOwner();
    this.owner = index.owner(this.#end);
    this.#capacity = Math.max(1, Math.floor(capacity));
  }

  /** In blocks. */
  get size(): number {
    return this.#size;
  }

  /** Room for blocks that no request in flight uses, in blocks; at least 1. */
  get looseRoom(): number {
    const used = Math.max(this.#pinned, this.#usedShare * this.#capacity);
    return Math.max(1, this.#capacity - used);
  }

  get capacity(): number {
    return this.#capacity;
  }

  /**
   * How many blocks a new request has used again when they had been unused for more than half of
   * the time that a block stays here: half of the room would have been too little for them.
   */
  get reused(): number {
    return this.#reused;
  }

  /** A smaller capacity forgets the oldest blocks at once; pinned ones stay. */
  setCapacity(capacity: number): void {
    this.#capacity = Math.max(1, Math.floor(capacity));
    this.#trim();
  }

  /** The share of the memory that the engine reports as in use, answers included; 0 before. */
  setUsedShare(share: number): void {
    this.#usedShare = share;
  }

  /** Forgets all. Nothing has an effect from now on; what is pinned may still be unpinned. */
  remove(): void {
    if (this.#removed) return;
    this.#removed = true;
    this.#size = 0;
    this.#index.removeOwner(this.#end);
  }

  /** How many blocks of the chain are held without a gap, counted from the first. */
  matchedBlocks(chain: PromptBlocks): number {
    return this.#removed ? 0 : this.#leading(chain, 'held');
  }

  /** Makes the whole chain the most recent; keeps the head of one for which there is no room. */
  touch(chain: PromptBlocks): void {
    this.#use(chain, this.#fitting(chain), 0);
  }

  /**
   * Touches the chain of a request that begins, and pins what there is room for: the engine forgets
   * no block that a request uses. Returns how many blocks are pinned, for `unpin`.
   */
  pin(chain: PromptBlocks): number {
    const pinned = this.#fitting(chain);
    this.#use(chain, pinned, 1);
    return pinned;
  }

  /**
   * Touches the first `pinned` blocks of a chain whose request has ended, and unpins them. Only
   * with what `pin` returned for this chain, and once.
   */
  unpin(chain: PromptBlocks, pinned: number): void {
    this.#use(chain, pinned, -1);
  }

  /** The `count` newest blocks, newest first, for `addOlder`. */
  newest(count: number): Uint32Array {
    return listNewest(this.#index, this.#end, Math.min(count, this.#size));
  }

  /**
   * Adds the blocks of another index, in the order of its `newest`, as older than all that is here,
   * as far as there is room. Blocks that are here keep their place.
   */
  addOlder(words: Uint32Array): void {
    if (this.#removed) return;
    this.#size += addListed(this.#index, this.#end, words, this.#capacity - this.#size);
  }

  /** How many blocks of a chain there is room for beside what is pinned and not of this chain. */
  #fitting(chain: PromptBlocks): number {
    const room = Math.max(0, this.#capacity - this.#pinned);
    if (chain.count <= room || this.#pinned === 0) return Math.min(chain.count, room);
    return Math.min(chain.count, room + this.#leading(chain, 'pinned'));
  }

  /** How many blocks of the chain are held, or pinned, without a gap, counted from the first. */
  #leading({ count, words }: PromptBlocks, which: 'held' | 'pinned'): number {
    const index = this.#index;
    let block = 0;
    while (block < count) {
      const run = index.runs.find(words, block);
      const holding = run === NO_RECORD ? NO_RECORD : index.holdingOf(run, this.owner);
      if (holding === NO_RECORD || (which === 'pinned' && index.pins(holding) === 0)) break;
      const length = index.runs.matching(run, words, block, count);
      const held = index.held(holding);
      block += Math.min(held, length);
      if (held < length) break;
    }
    return block;
  }

  /** Makes the first `count` blocks of a chain the newest, and adds `pins` to the pins of each. */
  #use({ words }: PromptBlocks, count: number, pins: number): void {
    if (this.#removed) return;
    const index = this.#index;
    index.freeSome();
    const now = this.#added;
    const lifeBlocks = Math.min(this.#lifeBlocks, this.looseRoom);
    this.#walk(words, count);
    const path = this.#path;
    for (let at = path.length - 1; at >= 0; at--) {
      const holding = path[at] as number;
      if (pins > 0 && index.pins(holding) === 0) {
        const age = (now - index.used(holding)) | 0;
        if (2 * age > lifeBlocks) this.#reused += index.held(holding);
      }
      index.setUsed(holding, this.#added);
      index.move(holding, this.#end);
      if (pins !== 0) this.#pin(holding, pins);
    }
    path.length = 0;
    this.#trim();
  }

  #pin(holding: number, pins: number): void {
    const before = this.#index.pins(holding);
    const after = Math.max(0, before + pins);
    this.#index.setPins(holding, after);
    if (before === 0 && after > 0) this.#pinned += this.#index.held(holding);
    if (before > 0 && after === 0) this.#pinned -= this.#index.held(holding);
  }

  /**
   * Finds the holdings of exactly the first `count` blocks of a chain; those that are missing are
   * added. A run is divided only where its parts differ from now on in their use or in their pins.
   */
  #walk(words: Uint32Array, count: number): void {
    const index = this.#index;
    let block = 0;
    while (block < count) {
      const run = index.runs.find(words, block);
      if (run === NO_RECORD) {
        this.#add(words, block, count);
        return;
      }
      const length = index.runs.matching(run, words, block, count);
      const holding = index.holdingOf(run, this.owner);
      block += holding === NO_RECORD ? this.#hold(run, length) : this.#adjust(holding, length);
    }
  }

  #hold(run: number, length: number): number {
    const holding = this.#index.add(run, length, this.#end);
    this.#index.setUsed(holding, this.#added);
    this.#path.push(holding);
    this.#grow(length);
    return length;
  }

  /** Makes a holding one of so many blocks, or of those that are pinned. Returns how many it is. */
  #adjust(holding: number, length: number): number {
    const index = this.#index;
    const held = index.held(holding);
    this.#path.push(holding);
    if (held === length) return length;
    if (held > length) index.split(index.run(holding), length);
    else if (index.pins(holding) > 0) {
      index.split(index.run(holding), held);
      return held;
    } else {
      index.hold(holding, length);
      this.#grow(length - held);
    }
    return length;
  }

  /** Adds blocks that no endpoint holds, behind the last holding of the path where it can grow. */
  #add(words: Uint32Array, from: number, to: number): void {
    const index = this.#index;
    const last = this.#path.at(-1);
    this.#grow(to - from);
    if (last !== undefined && index.pins(last) === 0 && index.isWhole(last)) {
      index.runs.extend(index.run(last), words, from, to);
      index.hold(last, index.held(last) + to - from);
    } else {
      const holding = index.add(index.runs.add(words, from, to), to - from, this.#end);
      index.setUsed(holding, this.#added);
      this.#path.push(holding);
    }
  }

  #grow(blocks: number): void {
    this.#size += blocks;
    this.#added += blocks;
  }

  /** Forgets the oldest blocks that are not pinned, as long as there are too many. */
  #trim(): void {
    const index = this.#index;
    while (this.#size > Math.max(this.#capacity, this.#pinned)) {
      const oldest = index.newer(this.#end);
      const held = index.held(oldest);
      const tooMany = this.#size - Math.max(this.#capacity, this.#pinned);
      if (index.pins(oldest) > 0) {
        index.move(oldest, this.#end);
        continue;
      }
      this.#lifeBlocks = (this.#added - index.used(oldest)) | 0;
      if (held <= tooMany) {
        index.remove(oldest);
        this.#size -= held;
      } else {
        index.hold(oldest, held - tooMany);
        this.#size -= tooMany;
      }
    }
  }
}
