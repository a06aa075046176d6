import type { CacheEvent } from './cache-event.ts';
import { decodeBatch } from './decode-batch.ts';
import { type BlockRoom, ResidentBlocks, TIERS_MAX } from './resident-blocks.ts';
import type { StreamStats } from './stream-stats.ts';
import type { TokenChain } from './token-chain.ts';

type Stored = Extract<CacheEvent, { readonly kind: 'stored' }>;
type Removed = Extract<CacheEvent, { readonly kind: 'removed' }>;

const NONE = -1;
/** Attention that keeps the whole prefix: with others a block found does not mean the prefix can be used. */
const WHOLE_PREFIX: ReadonlySet<string> = new Set([
  'full_attention',
  'mla_attention',
  'sink_full_attention',
]);
/** Names of adapters remembered, all endpoints together: they come from engines, not from clients. */
const ADAPTERS_MAX = 4096;

/**
 * `unknown`: nothing heard yet, so that nothing can be said; `partial`: what is here is held, and more may be;
 * `complete`: exactly what is here is held.
 */
export type Knowledge = 'unknown' | 'partial' | 'complete';

export interface CacheViewOptions {
  readonly chain: TokenChain;
  readonly stats: StreamStats;
  /** Adapters that any engine has named; grows with the events. */
  readonly adapters: Set<string>;
  readonly room: BlockRoom;
  /** The engine has emptied its cache. */
  readonly onCleared: () => void;
  /** Weight of a block by the tier it is in; tiers not named weigh 1. */
  readonly tierWeights: ReadonlyMap<string, number>;
}

/** One endpoint's prefix cache as its events tell it. */
export class CacheView {
  readonly blocks: ResidentBlocks;
  readonly #options: CacheViewOptions;
  /** Names of the tiers, in the order they first came; the accelerator's own is always the first. */
  readonly #tiers: string[] = ['gpu'];
  readonly #weights: number[] = [];
  /** The group whose blocks are counted; undefined until a group is named. */
  #group: number | undefined;
  #blockTokens: number | undefined;
  knowledge: Knowledge = 'unknown';

  constructor(options: CacheViewOptions) {
    this.#options = options;
    this.blocks = new ResidentBlocks(options.room);
    this.#weights.push(1);
  }

  /** The engine's own block size; undefined until it has stored something. */
  get blockTokens(): number | undefined {
    return this.#blockTokens;
  }

  /** All that was known is void. */
  reset(knowledge: Knowledge): void {
    this.blocks.clear();
    this.knowledge = knowledge;
  }

  /** Throws an Error, having changed nothing, when the payload is no batch. */
  apply(payload: Uint8Array): void {
    const { stats } = this.#options;
    const { events, unknown } = decodeBatch(payload);
    stats.batches += 1;
    stats.events += events.length + unknown;
    stats.skipped += unknown;
    stats.bytes += payload.length;
    for (const event of events) this.#apply(event);
  }

  /** How many of a chain's first blocks are held, each weighed by its tier; whole blocks. */
  match(keys: Uint32Array, count: number): number {
    // A sum of weights such as 0.8 five times over must not come out a block short.
    return Math.floor(this.blocks.weighedPrefix(keys, count, this.#weights) + 1e-9);
  }

  #apply(event: CacheEvent): void {
    switch (event.kind) {
      case 'stored':
        if (this.#counts(event)) this.#store(event);
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

  #counts({ group, groupKind }: Stored): boolean {
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
    if (lora !== undefined && adapters.size < ADAPTERS_MAX) adapters.add(lora);
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
    const place = this.#tierOf(tier);
    for (let at = 0; at < hashes.length; at += 2) {
      const block = this.blocks.find(hashes[at] as number, hashes[at + 1] as number);
      if (block !== NONE) this.blocks.removeCopy(block, place);
    }
  }

  /** An engine that comes back with another block size has begun anew, whatever else was heard. */
  #setBlockTokens(blockTokens: number): void {
    if (this.#blockTokens !== undefined && this.#blockTokens !== blockTokens) this.reset('partial');
    this.#blockTokens = blockTokens;
  }

  /** A fifth tier is counted with the fourth. */
  #tierOf(name: string): number {
    const known = this.#tiers.indexOf(name);
    if (known >= 0) return known;
    if (this.#tiers.length === TIERS_MAX) return TIERS_MAX - 1;
    this.#weights.push(Math.min(1, this.#options.tierWeights.get(name) ?? 1));
    return this.#tiers.push(name) - 1;
  }
}
