import type { CacheEvent } from './cache-event.ts';
import { decodeBatch } from './decode-batch.ts';
import { type BlockRoom, ResidentBlocks, TIERS_MAX } from './resident-blocks.ts';
import type { StreamStats } from './stream-stats.ts';
import type { TokenChain } from './token-chain.ts';

type Stored = Extract<CacheEvent, { readonly kind: 'stored' }>;
type Removed = Extract<CacheEvent, { readonly kind: 'removed' }>;

const NONE = -1;
/** Attention that keeps the whole prefix. With others, a block found does not make it usable. */
const WHOLE_PREFIX: ReadonlySet<string> = new Set([
  'full_attention',
  'mla_attention',
  'sink_full_attention',
]);
/** The most adapter names kept for all endpoints; they come from engines, not from clients. */
const ADAPTERS_MAX = 4096;
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

/** One endpoint's prefix cache, as its events describe it. */
export class CacheView {
  readonly blocks: ResidentBlocks;
  readonly #options: CacheViewOptions;
  /** Tier names in the order of their first use; the accelerator's is always the first. */
  readonly #tiers: string[] = ['gpu'];
  readonly #weights: number[] = [];
  /** The KV-cache group that counts; undefined until an event names one. */
  #group: number | undefined;
  /** The engine's block size in tokens; undefined until it has stored a block. */
  blockTokens: number | undefined;
  knowledge: Knowledge = 'unknown';

  constructor(options: CacheViewOptions) {
    this.#options = options;
    this.blocks = new ResidentBlocks(options.room, options.chain.hash);
    this.#weights.push(1);
  }

  reset(knowledge: Knowledge): void {
    this.blocks.clear();
    this.knowledge = knowledge;
  }

  /** Applies a batch. Throws DroppedBatch and changes nothing where the payload is not a batch. */
  apply(payload: Uint8Array): void {
    const { stats, batchElementsMax } = this.#options;
    const { events, unknown } = decodeBatch(payload, batchElementsMax);
    stats.batches += 1;
    stats.events += events.length + unknown;
    stats.skipped += unknown;
    stats.bytes += payload.length;
    for (const event of events) this.#apply(event);
  }

  /** The number of a chain's first blocks that are held, weighed by tier and rounded down. */
  match(keys: Uint32Array, count: number): number {
    // So that rounding errors, as in a sum of five weights of 0.8, do not cost a block.
    return Math.floor(this.blocks.weighedPrefix(keys, count, this.#weights) + 1e-9);
  }

  #apply(event: CacheEvent): void {
    switch (event.kind) {
      case 'stored':
        if (this.#isCountedGroup(event)) this.#store(event);
        return;
      case 'removed':
        if (event.group !== undefined && event.group !== this.#group) this.#skip();
        else this.#remove(event);
        return;
      case 'cleared':
        this.reset('complete');
        this.#options.onCleared();
    }
  }

  #isCountedGroup({ group, groupKind }: Stored): boolean {
    if (group === undefined) return true;
    const whole = groupKind === undefined || WHOLE_PREFIX.has(groupKind);
    if (whole) this.#group ??= group;
    if (group === this.#group) return true;
    this.#skip();
    return false;
  }

  #skip(): void {
    this.#options.stats.skipped += 1;
  }

  #store(event: Stored): void {
    const { chain, stats, adapters } = this.#options;
    const { hashes, parent, tokenIds, blockTokens, lora, extras } = event;
    this.#setBlockTokens(blockTokens);
    if (lora !== undefined && lora.length <= ADAPTER_CHARS_MAX && adapters.size < ADAPTERS_MAX) {
      adapters.add(lora);
    }
    const tier = this.#tierOf(event.tier);
    let before = NONE;
    if (parent === undefined) chain.begin(lora ?? '');
    else {
      before = this.blocks.find(parent[0] as number, parent[1] as number);
      if (before === NONE) {
        stats.unnamed += hashes.length / 2;
        return;
      }
      chain.continue(this.blocks.keyLow(before), this.blocks.keyHigh(before));
    }
    for (let index = 0; 2 * index < hashes.length; index++) {
      const hash = { low: hashes[2 * index] as number, high: hashes[2 * index + 1] as number };
      const from = index * blockTokens;
      let block = this.blocks.find(hash.low, hash.high);
      if (block === NONE && from + blockTokens <= tokenIds.length) {
        chain.add(tokenIds, from, blockTokens, extras[index]);
        block = this.blocks.add(hash, chain, before);
      } else if (block !== NONE) {
        chain.continue(this.blocks.keyLow(block), this.blocks.keyHigh(block));
      }
      if (block === NONE) {
        stats.unnamed += hashes.length / 2 - index;
        return;
      }
      this.blocks.addCopy(block, tier);
      before = block;
    }
  }

  #remove({ hashes, tier }: Removed): void {
    const index = this.#tierOf(tier);
    for (let at = 0; at < hashes.length; at += 2) {
      const block = this.blocks.find(hashes[at] as number, hashes[at + 1] as number);
      if (block !== NONE) this.blocks.removeCopy(block, index);
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
    this.#weights.push(Math.min(1, this.#options.tierWeights.get(name) ?? 1));
    return this.#tiers.push(name) - 1;
  }
}
