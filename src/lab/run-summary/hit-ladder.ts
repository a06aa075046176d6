import type { Millis } from '../../framework/runtime.ts';
import type { TraceRequest } from '../traces/trace.ts';
import type { Workload } from '../traces/workload.ts';
import { sum } from './statistics.ts';

/** Number of equal parts of a trace for which the charts of a run have values. */
export const BINS = 48;

/** Length of a bin, if the last request arrives at `lastMs`. */
export function binLength(lastMs: Millis): Millis {
  return Math.max(1, (lastMs + 1) / BINS);
}

/** The bin of a time; what is behind the last bin counts to it. */
export function binOf(atMs: Millis, binMs: Millis): number {
  return Math.min(BINS - 1, Math.floor(atMs / binMs));
}

/** Share of prompt tokens found in caches. */
export interface HitRate {
  readonly overall: number;
  /** By bin; NaN for a bin without requests. */
  readonly spans: readonly number[];
}

/**
 * The hit rates of caches that get requests in the order of arrival, under one more limit at each
 * step.
 */
export interface HitLadder {
  /** With unlimited memory. */
  readonly ideal: HitRate;
  /** With the pool's memory as one cache; undefined if that is unknown. */
  readonly capacityLimited: HitRate | undefined;
  /**
   * With the servers' own caches and each request sent where it finds most and evicts least,
   * regardless of queues; undefined if their memory is unknown.
   */
  readonly perfectRouting: HitRate | undefined;
}

/**
 * Sends the requests one after another through LRU caches. Only the first step is an upper bound:
 * an eviction policy that knows the future finds more, and so does another order of requests.
 */
export function hitLadder(
  { requests, blockTokens }: Workload,
  pool: { readonly servers: readonly { readonly kvTokens: number }[] } | undefined,
  binMs: number,
): HitLadder {
  const blocksOf = pool?.servers.map(({ kvTokens }) => Math.floor(kvTokens / blockTokens));
  const all = blocksOf && sum(blocksOf);
  const keys = keysOf(requests);
  const through = (sizes: readonly number[]): HitRate =>
    rateOf(requests, cachedTokens({ requests, blockTokens }, keys, sizes), binMs);
  return {
    ideal: through([Number.POSITIVE_INFINITY]),
    capacityLimited: all === undefined ? undefined : through([all]),
    perfectRouting: blocksOf && through(blocksOf),
  };
}

/** The share of the prompt tokens that were cached: `cached` has a number of tokens per request. */
export function rateOf(
  requests: readonly TraceRequest[],
  cached: readonly number[],
  binMs: number,
): HitRate {
  const asked = Array.from({ length: BINS }, () => 0);
  const hits = Array.from({ length: BINS }, () => 0);
  requests.forEach(({ atMs, promptTokens }, at) => {
    const bin = binOf(atMs, binMs);
    asked[bin] = (asked[bin] ?? 0) + promptTokens;
    hits[bin] = (hits[bin] ?? 0) + (cached[at] ?? 0);
  });
  return {
    overall: sum(hits) / Math.max(1, sum(asked)),
    spans: asked.map((tokens, bin) => (tokens === 0 ? Number.NaN : (hits[bin] ?? 0) / tokens)),
  };
}

/** A number for each block: the same for the same model, place and id. */
function keysOf(requests: readonly TraceRequest[]): readonly (readonly number[])[] {
  const numbers = new Map<string, number>();
  return requests.map(({ blockIds, model }) =>
    blockIds.map((id, place) => {
      const key = `${model} ${place} ${id}`;
      const known = numbers.get(key) ?? numbers.size;
      numbers.set(key, known);
      return known;
    }),
  );
}

/** For each request, the tokens of its prompt that one of the caches had. `sizes` are in blocks. */
function cachedTokens(
  { requests, blockTokens }: Workload,
  keys: readonly (readonly number[])[],
  sizes: readonly number[],
): readonly number[] {
  const caches = sizes.map((blocksMax) => new LruCache(blocksMax));
  return requests.map(({ promptTokens }, at) => {
    const blocks = keys[at] ?? [];
    let best: LruCache | undefined;
    let matched = 0;
    let most = Number.NEGATIVE_INFINITY;
    for (const cache of caches) {
      const match = cache.match(blocks);
      // Without the evictions, a beginning that all prompts share would draw them all to one cache.
      const worth = match - cache.evictions(blocks.length - match);
      if (worth < most || (worth === most && best !== undefined && !cache.isFreerThan(best))) {
        continue;
      }
      most = worth;
      matched = match;
      best = cache;
    }
    best?.use(blocks, at);
    return Math.min(promptTokens, matched * blockTokens);
  });
}

class LruCache {
  readonly #blocksMax: number;
  /** When each block was last used; the least recently used comes first. */
  readonly #usedAt = new Map<number, number>();

  constructor(blocksMax: number) {
    this.#blocksMax = blocksMax;
  }

  match(blocks: readonly number[]): number {
    const missing = blocks.findIndex((block) => !this.#usedAt.has(block));
    return missing < 0 ? blocks.length : missing;
  }

  /** Uses the blocks in reverse, so that the end of a prompt is evicted before its beginning. */
  use(blocks: readonly number[], at: number): void {
    for (const block of blocks.toReversed()) {
      this.#usedAt.delete(block);
      this.#usedAt.set(block, at);
    }
    for (const oldest of this.#usedAt.keys()) {
      if (this.#usedAt.size <= this.#blocksMax) break;
      this.#usedAt.delete(oldest);
    }
  }

  /** How many blocks this many new ones evict. */
  evictions(blocks: number): number {
    return Math.max(0, this.#usedAt.size + blocks - this.#blocksMax);
  }

  /** Whether new blocks cost less here: by free room, then by the age of the oldest block. */
  isFreerThan(other: LruCache): boolean {
    return this.#lossAt() < other.#lossAt();
  }

  #lossAt(): number {
    const free = this.#blocksMax - this.#usedAt.size;
    if (free > 0) return -free;
    const [oldest = 0] = this.#usedAt.values();
    return oldest;
  }
}
