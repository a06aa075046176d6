import { encode } from '@msgpack/msgpack';
import type { Random } from '../../../src/framework/runtime.ts';

/** Tokens of a block. */
const BLOCK_TOKENS = 2;
/** Each block has so many that may follow it, down to this depth: few enough to come again. */
const FOLLOWERS = 3;
const DEPTH = 6;
/** The hashes of blocks of one long chain, which no other block has. */
const LONG_CHAIN = 1_000_000;
const LONG_CHAIN_BLOCKS = 9000;
/** Batches that can be had again. */
const KEPT_BATCHES = 400;

/** Copies in the two tiers. */
interface Copies {
  gpu: number;
  cpu: number;
}

export interface PublishedBatch {
  readonly sequence: number;
  readonly payload: Uint8Array;
}

/**
 * An engine that publishes what its cache stores and removes, and knows what it has published. Equal
 * blocks have equal hashes, also after a restart.
 */
export class KvEngine {
  readonly #random: Random;
  /** By hash: what a reader of all events since the start must know. */
  #cache = new Map<number, Copies>();
  #kept: PublishedBatch[] = [];
  #next = 0;
  #lives = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Its process ends, and another begins with an empty cache. */
  restart(): void {
    this.#lives += 1;
    this.#cache = new Map();
    this.#kept = [];
    this.#next = 0;
  }

  copies(hash: number): Copies {
    return this.#cache.get(hash) ?? { gpu: 0, cpu: 0 };
  }

  get blocks(): number {
    return [...this.#cache.values()].filter(({ gpu, cpu }) => gpu + cpu > 0).length;
  }

  /** Batches from this number on, as far as they are kept. */
  from(sequence: number): readonly PublishedBatch[] {
    return this.#kept.filter((each) => each.sequence >= sequence);
  }

  /** What happens in a step of the engine. */
  publish(): PublishedBatch {
    const events = Array.from({ length: 1 + this.#below(4) }, () => this.#event());
    if (this.#random.next() < 0.02) events.push(...this.#storeLong());
    return this.#publishing(encode([this.#time(), events, 0]));
  }

  /** A batch that no reader understands, so that readers must not trust what they knew. */
  publishBroken(): PublishedBatch {
    return this.#publishing(encode([this.#time(), 'no list of events', 0]));
  }

  #publishing(payload: Uint8Array): PublishedBatch {
    const batch = { sequence: this.#next, payload };
    this.#next += 1;
    this.#kept.push(batch);
    if (this.#kept.length > KEPT_BATCHES) this.#kept.shift();
    return batch;
  }

  /** No two batches have the same. */
  #time(): number {
    return this.#lives + this.#next / 1e6;
  }

  #event(): unknown {
    const chance = this.#random.next();
    if (chance < 0.006) return this.#clear();
    if (chance < 0.012) return ['EventOfTheFuture', 1, [2]];
    if (chance < 0.6) return this.#store();
    return chance < 0.7 ? this.#offload() : this.#remove();
  }

  #clear(): unknown {
    this.#cache.clear();
    return ['AllBlocksCleared'];
  }

  /** Blocks behind one that is there, or behind none. */
  #store(): unknown {
    const parent = this.#random.next() < 0.3 ? 0 : (this.#anyOf(isOnGpu) ?? 0);
    const hashes: number[] = [];
    let last = parent;
    for (let count = 1 + this.#below(3); count > 0 && depthOf(last) < DEPTH; count--) {
      last = FOLLOWERS * last + 1 + this.#below(FOLLOWERS);
      hashes.push(last);
    }
    return this.#stored(hashes, parent);
  }

  /** So much that it is applied in slices, between events and within them. */
  #storeLong(): readonly unknown[] {
    const all = Array.from({ length: LONG_CHAIN_BLOCKS }, (_, at) => LONG_CHAIN + at);
    const half = LONG_CHAIN_BLOCKS / 2;
    return [
      this.#stored(all.slice(0, half), 0),
      this.#stored(all.slice(half), LONG_CHAIN + half - 1),
    ];
  }

  #stored(hashes: readonly number[], parent: number): unknown {
    for (const hash of hashes) this.#change(hash, 'gpu', 1);
    const tokens = hashes.flatMap((hash) => [hash, 1]);
    return ['BlockStored', hashes, parent === 0 ? null : parent, tokens, BLOCK_TOKENS];
  }

  /** A copy in the memory of the host, published without tokens. */
  #offload(): unknown {
    const hash = this.#anyOf(isOnGpu);
    if (hash === undefined) return this.#store();
    this.#change(hash, 'cpu', 1);
    return ['BlockStored', [hash], null, [], 0, null, 'CPU'];
  }

  /** Mostly the end of a chain, and sometimes a block before others. */
  #remove(): unknown {
    const isEnd = (copies: Copies, hash: number): boolean =>
      isHeld(copies) && (this.#random.next() < 0.1 || !this.#hasFollower(hash));
    const hash = this.#anyOf(isEnd);
    if (hash === undefined) return this.#store();
    const tier = this.copies(hash).gpu > 0 ? 'gpu' : 'cpu';
    this.#change(hash, tier, -1);
    return ['BlockRemoved', [hash], tier];
  }

  #change(hash: number, tier: keyof Copies, by: number): void {
    const copies = { ...this.copies(hash) };
    copies[tier] += by;
    this.#cache.set(hash, copies);
  }

  #hasFollower(hash: number): boolean {
    if (hash >= LONG_CHAIN) return isHeld(this.copies(hash + 1));
    const first = FOLLOWERS * hash + 1;
    return [0, 1, 2].some((at) => isHeld(this.copies(first + at)));
  }

  /** The first one that fits, from a place drawn by chance on. */
  #anyOf(fits: (copies: Copies, hash: number) => boolean): number | undefined {
    const hashes = [...this.#cache.keys()].slice(0, 400);
    const from = this.#below(hashes.length);
    for (let at = 0; at < hashes.length; at++) {
      const hash = hashes[(from + at) % hashes.length];
      if (hash !== undefined && fits(this.copies(hash), hash)) return hash;
    }
    return undefined;
  }

  #below(count: number): number {
    return Math.floor(count * this.#random.next());
  }
}

function isOnGpu({ gpu }: Copies, hash: number): boolean {
  return gpu > 0 && hash < LONG_CHAIN;
}

function isHeld({ gpu, cpu }: Copies): boolean {
  return gpu + cpu > 0;
}

function depthOf(hash: number): number {
  return hash === 0 ? 0 : 1 + depthOf(Math.floor((hash - 1) / FOLLOWERS));
}

/** All hashes that blocks may have. */
export function allHashes(): readonly number[] {
  let last = 0;
  for (let depth = 0; depth < DEPTH; depth++) last = FOLLOWERS * last + FOLLOWERS;
  const tree = Array.from({ length: last }, (_, at) => at + 1);
  return [...tree, ...Array.from({ length: LONG_CHAIN_BLOCKS }, (_, at) => LONG_CHAIN + at)];
}
