import type { Millis } from '../../framework/runtime.ts';
import { sizesIn } from '../traces/request-table.ts';
import type { TraceRequest, TraceRequests } from '../traces/trace.ts';
import type { WorkloadContent } from '../traces/workload.ts';
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
  { requests, blockTokens }: WorkloadContent,
  pool: { readonly servers: readonly { readonly kvTokens: number }[] } | undefined,
  binMs: number,
): HitLadder {
  const blocksOf = pool?.servers.map(({ kvTokens }) => Math.floor(kvTokens / blockTokens));
  const all = blocksOf && sum(blocksOf);
  const keys = keysOf(requests);
  const through = (sizes: readonly number[]): HitRate =>
    hitRateOf({ requests, blockTokens }, { keys, sizes, binMs });
  return {
    ideal: through([Number.POSITIVE_INFINITY]),
    capacityLimited: all === undefined ? undefined : through([all]),
    perfectRouting: blocksOf && through(blocksOf),
  };
}

/** Counts by bin how many prompt tokens were asked for, and how many of them were cached. */
export class HitCounts {
  readonly #binMs: Millis;
  readonly #asked = new Float64Array(BINS);
  readonly #hits = new Float64Array(BINS);

  constructor(binMs: Millis) {
    this.#binMs = binMs;
  }

  add(
    { atMs, promptTokens }: Pick<TraceRequest, 'atMs' | 'promptTokens'>,
    cachedTokens: number,
  ): void {
    const bin = binOf(atMs, this.#binMs);
    this.#asked[bin] = (this.#asked[bin] ?? 0) + promptTokens;
    this.#hits[bin] = (this.#hits[bin] ?? 0) + cachedTokens;
  }

  rate(): HitRate {
    return {
      overall: sum(this.#hits) / Math.max(1, sum(this.#asked)),
      spans: Array.from(this.#asked, (tokens, bin) =>
        tokens === 0 ? Number.NaN : (this.#hits[bin] ?? 0) / tokens,
      ),
    };
  }
}

/** A number for each block: the same for the same model, place and id. */
function keysOf(requests: TraceRequests): readonly (readonly number[])[] {
  const numbers = new Map<string, number>();
  return Array.from(requests, ({ blockIds, model }) =>
    blockIds.map((id, place) => {
      const key = `${model} ${place} ${id}`;
      const known = numbers.get(key) ?? numbers.size;
      numbers.set(key, known);
      return known;
    }),
  );
}

interface Caches {
  /** The blocks of each prompt. */
  readonly keys: readonly (readonly number[])[];
  /** In blocks. */
  readonly sizes: readonly number[];
  readonly binMs: Millis;
}

/** The share of the prompt tokens that one of the caches had. */
function hitRateOf(
  { requests, blockTokens }: WorkloadContent,
  { keys, sizes, binMs }: Caches,
): HitRate {
  const caches = sizes.map((blocksMax) => new LruCache(blocksMax));
  const counts = new HitCounts(binMs);
  let at = 0;
  for (const request of sizesIn(requests)) {
    const blocks = keys[at] ?? [];
    const { cache, matched } = cacheFor(blocks, caches);
    cache?.use(blocks, at);
    counts.add(request, Math.min(request.promptTokens, matched * blockTokens));
    at += 1;
  }
  return counts.rate();
}

/** The cache that has most of the prompt and evicts least for it, and how many blocks it has. */
function cacheFor(
  blocks: readonly number[],
  caches: readonly LruCache[],
): { readonly cache: LruCache | undefined; readonly matched: number } {
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
  return { cache: best, matched };
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
