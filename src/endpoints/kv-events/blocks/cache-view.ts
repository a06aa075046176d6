import type { HeldBlocks } from '../../../framework/cycle-facts.ts';
import type { UnusableReason } from '../health/event-health.ts';
import type { StreamStats } from '../health/stream-stats.ts';
import type { CacheEvent, HashWords, RemovedEvent, StoredEvent } from '../messages/cache-event.ts';
import { decodeEvents } from '../messages/decode-batch.ts';
import { CacheGroups } from './cache-groups.ts';
import { type BlockRoom, ResidentBlocks, TIERS_MAX } from './resident-blocks.ts';
import type { TokenChain } from './token-chain.ts';

const NONE = -1;
/** The most adapter names kept for all endpoints; they come from engines, not from clients. */
const ADAPTERS_MAX = 4096;
/** Hashes, tokens and fields applied without a pause: about two milliseconds. */
const SLICE_ELEMENTS = 10_000;
/** What an event costs besides its hashes and tokens. */
const EVENT_ELEMENTS = 10;
/** A hash is two words. */
const HASH_ELEMENTS = 2;
/** No request can name a longer one. */
const ADAPTER_CHARS_MAX = 512;

/** `unknown`: no events yet. `partial`: holds these blocks and maybe more. `complete`: no more. */
type Knowledge = 'unknown' | 'partial' | 'complete';

interface CacheViewOptions {
  readonly chain: TokenChain;
  readonly stats: StreamStats;
  /** Adapter names are added to it as they occur in events. */
  readonly adapters: Set<string>;
  readonly room: BlockRoom;
  readonly onCleared: () => void;
  /** A batch with more elements is dropped. */
  readonly batchElementsMax: number;
  /** The weight of a block by its tier; other tiers weigh 1. */
  readonly tierWeights: ReadonlyMap<string, number>;
}

const ACCELERATOR = 'gpu';
const HOST = 'cpu';

/** The label that says why an event, or a part of it, was left out. */
const SKIPPED: Readonly<Record<UnusableReason, string>> = {
  'no-events': 'no_events',
  'unknown-parent': 'unknown_parent',
  'no-tokens': 'no_tokens',
  'no-room': 'no_room',
  'attention-kind': 'unsupported_cache_kind',
};

/** One endpoint's prefix cache, as its events describe it. */
export class CacheView {
  readonly blocks: ResidentBlocks;
  readonly #options: CacheViewOptions;
  /** Tier names in the order of their first use; the accelerator's is always the first. */
  readonly #tiers: string[] = [ACCELERATOR];
  readonly #weights: number[] = [];
  readonly #groups = new CacheGroups();
  /** Applied in the current slice. */
  #elements = 0;
  /** The engine's block size in tokens; undefined until it has stored a block. */
  blockTokens: number | undefined;
  knowledge: Knowledge = 'unknown';

  constructor(options: CacheViewOptions) {
    this.#options = options;
    this.blocks = new ResidentBlocks(options.room, options.chain.hash);
    this.#weights.push(options.tierWeights.get(ACCELERATOR) ?? 1);
  }

  /** Forgets all blocks. `knowledge` says what is known from then on. */
  reset(knowledge: Knowledge): void {
    this.blocks.clear();
    this.knowledge = knowledge;
  }

  /** Applies a whole batch. Throws DroppedBatch where it cannot be read; then nothing is known. */
  apply(payload: Uint8Array): void {
    for (const _slice of this.slices(payload)) continue;
  }

  /** Applies a batch in slices of some milliseconds, one for each step. Throws as `apply`. */
  *slices(payload: Uint8Array): Generator<void, void> {
    const { stats, batchElementsMax } = this.#options;
    this.#elements = 0;
    for (const event of decodeEvents(payload, batchElementsMax)) {
      stats.events += 1;
      this.#elements += EVENT_ELEMENTS;
      if (event === undefined) stats.skipped += 1;
      else yield* this.#apply(event);
      if (this.#isSliceOver()) yield;
    }
    stats.batches += 1;
    stats.bytes += payload.length;
  }

  /** The number of a chain's first blocks that are held, weighed by tier and rounded down. */
  match(keys: Uint32Array, count: number): number {
    // So that rounding errors, as in a sum of five weights of 0.8, do not cost a block.
    return Math.floor(this.blocks.weighedPrefix(keys, count, this.#weights) + 1e-9);
  }

  /** The number of a chain's first blocks that are held, and of those with a copy on the host. */
  held(keys: Uint32Array, count: number): HeldBlocks {
    const host = this.#tiers.indexOf(HOST);
    return {
      inAnyTier: this.blocks.prefixBlocks(keys, count),
      onHost: host < 0 ? 0 : this.blocks.prefixInTier(keys, count, host),
    };
  }

  /** Whether enough is applied without a pause; then the next slice begins. */
  #isSliceOver(): boolean {
    if (this.#elements < SLICE_ELEMENTS) return false;
    this.#elements = 0;
    return true;
  }

  *#apply(event: CacheEvent): Generator<void, void> {
    const { total } = this.#options.stats;
    switch (event.kind) {
      case 'stored': {
        const skipped = this.#groups.whySkipped(event);
        if (skipped === undefined) yield* this.#store(event);
        else {
          this.#options.stats.skipped += 1;
          total.storesSkipped.count(this.#groups.kindOf(event), skipped);
          this.#options.stats.health.stored('attention-kind');
        }
        return;
      }
      case 'removed': {
        const skipped = this.#groups.whyNotRemoved(event);
        if (skipped === undefined) yield* this.#remove(event);
        else {
          this.#options.stats.skipped += 1;
          total.removalsSkipped.count(this.#groups.kindOf(event), skipped);
        }
        return;
      }
      case 'cleared':
        this.reset('complete');
        this.#options.onCleared();
    }
  }

  *#store(event: StoredEvent): Generator<void, void> {
    const { stats, adapters } = this.#options;
    const { lora } = event;
    if (lora !== undefined && lora.length <= ADAPTER_CHARS_MAX && adapters.size < ADAPTERS_MAX) {
      adapters.add(lora);
    }
    const hasTokens = event.tokenIds.length > 0;
    const reason = yield* hasTokens ? this.#addChain(event) : this.#addCopies(event);
    stats.health.stored(reason);
    if (reason !== undefined)
      stats.total.storesSkipped.count(this.#groups.kindOf(event), SKIPPED[reason]);
  }

  /** Blocks without tokens, such as those an engine has offloaded: the known ones get a copy. */
  *#addCopies({ hashes, tier: name }: StoredEvent): Generator<void, UnusableReason | undefined> {
    const tier = this.#tierOf(name);
    let unknown = 0;
    for (let at = 0; at < hashes.length; at += 2) {
      const block = this.blocks.find(hashes[at] as number, hashes[at + 1] as number);
      if (block === NONE) unknown += 1;
      else this.#addCopy(block, tier);
      this.#elements += HASH_ELEMENTS;
      if (this.#isSliceOver()) yield;
    }
    this.#options.stats.unnamed += unknown;
    return unknown > 0 ? 'no-tokens' : undefined;
  }

  /** Returns why not all of the blocks were added. */
  *#addChain(event: StoredEvent): Generator<void, UnusableReason | undefined> {
    const { chain, stats } = this.#options;
    const { hashes, tokenIds, blockTokens, extras } = event;
    this.#setBlockTokens(blockTokens);
    const tier = this.#tierOf(event.tier);
    let before = this.#beginChain(event);
    if (before === undefined) {
      stats.unnamed += hashes.length / 2;
      return 'unknown-parent';
    }
    for (let index = 0; 2 * index < hashes.length; index++) {
      const hash = { low: hashes[2 * index] as number, high: hashes[2 * index + 1] as number };
      const from = index * blockTokens;
      let block = this.blocks.find(hash.low, hash.high);
      const named = from + blockTokens <= tokenIds.length;
      if (block === NONE && named) {
        chain.add(tokenIds, from, blockTokens, extras[index]);
        block = this.blocks.add(hash, chain, before);
      } else if (block !== NONE) {
        chain.continue(this.blocks.keyLow(block), this.blocks.keyHigh(block));
      }
      if (block === NONE) {
        stats.unnamed += hashes.length / 2 - index;
        return named ? 'no-room' : 'no-tokens';
      }
      this.#addCopy(block, tier);
      before = block;
      this.#elements += HASH_ELEMENTS + blockTokens;
      if (!this.#isSliceOver()) continue;
      yield;
      // Meanwhile the chain of another endpoint may have been continued.
      chain.continue(this.blocks.keyLow(block), this.blocks.keyHigh(block));
    }
    return undefined;
  }

  /** The block before the event's first one: NONE at the beginning of a prompt. */
  #beginChain({ parent, lora }: StoredEvent): number | undefined {
    const { chain } = this.#options;
    const before =
      parent === undefined ? NONE : this.blocks.find(parent[0] as number, parent[1] as number);
    if (before !== NONE) chain.continue(this.blocks.keyLow(before), this.blocks.keyHigh(before));
    else if (parent === undefined || isZero(parent)) chain.begin(lora ?? '');
    else return undefined;
    return before;
  }

  #addCopy(block: number, tier: number): void {
    this.blocks.addCopy(block, tier);
    this.#options.stats.total.admissions += 1;
  }

  *#remove({ hashes, tier }: RemovedEvent): Generator<void, void> {
    const { total } = this.#options.stats;
    const index = this.#tierOf(tier);
    for (let at = 0; at < hashes.length; at += 2) {
      const block = this.blocks.find(hashes[at] as number, hashes[at + 1] as number);
      if (block !== NONE && this.blocks.copies(block, index) > 1) total.removalsSuppressed += 1;
      else total.removalsForwarded += 1;
      if (block !== NONE && this.blocks.removeCopy(block, index)) total.evictions += 1;
      this.#elements += HASH_ELEMENTS;
      if (this.#isSliceOver()) yield;
    }
  }

  /** An engine with another block size than before has restarted. */
  #setBlockTokens(blockTokens: number): void {
    if (this.blockTokens !== undefined && this.blockTokens !== blockTokens) this.reset('partial');
    this.blockTokens = blockTokens;
  }

  /** The index of a tier. A fifth tier counts as the fourth. */
  #tierOf(name: string): number {
    const known = this.#tiers.indexOf(name);
    if (known >= 0) return known;
    if (this.#tiers.length === TIERS_MAX) return TIERS_MAX - 1;
    this.#weights.push(this.#options.tierWeights.get(name) ?? 1);
    return this.#tiers.push(name) - 1;
  }
}

function isZero(hash: HashWords): boolean {
  return hash[0] === 0 && hash[1] === 0;
}
