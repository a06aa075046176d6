import type { TraceRequest } from '../traces/trace.ts';
import type { Workload } from '../traces/workload.ts';
import { BINS, binOf } from './bins.ts';

/** A share of prompt tokens found in caches: over all, and in each span of the trace; NaN where nothing came. */
export interface HitRate {
  readonly overall: number;
  readonly spans: readonly number[];
}

/** What caches could find at most, each step down for one reason. */
export interface HitLadder {
  /** Memory for everything. */
  readonly ideal: HitRate;
  /** The pool's memory, as one cache; undefined where that is not known, as below. */
  readonly capacityLimited: HitRate | undefined;
  /** The servers' own caches, each request where it finds most and drives out least, however long the queue. */
  readonly perfectRouting: HitRate | undefined;
}

/**
 * Requests one after another, through caches that forget what was used longest ago. A rung is no bound in the strict sense:
 * to know what will be asked for would find more.
 */
export function hitLadder(
  { requests, blockTokens }: Workload,
  pool: { readonly servers: readonly { readonly kvTokens: number }[] } | undefined,
  binMs: number,
): HitLadder {
  const blocksOf = pool?.servers.map(({ kvTokens }) => Math.floor(kvTokens / blockTokens));
  const all = blocksOf?.reduce((sum, blocks) => sum + blocks, 0);
  const keys = keysOf(requests);
  const through = (sizes: readonly number[]): HitRate =>
    rateOf(requests, found(requests, { keys, sizes, blockTokens }), binMs);
  return {
    ideal: through([Number.POSITIVE_INFINITY]),
    capacityLimited: all === undefined ? undefined : through([all]),
    perfectRouting: blocksOf && through(blocksOf),
  };
}

/** A share of prompt tokens, over all and by span. */
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
  const total = (values: readonly number[]): number => values.reduce((sum, each) => sum + each, 0);
  return {
    overall: total(hits) / Math.max(1, total(asked)),
    spans: asked.map((tokens, bin) => (tokens === 0 ? Number.NaN : (hits[bin] ?? 0) / tokens)),
  };
}

/** Blocks as numbers: the same for the same text of the same model at the same place. */
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

/** Tokens of each request's prompt that a cache had. */
function found(
  requests: readonly TraceRequest[],
  {
    keys,
    sizes,
    blockTokens,
  }: {
    readonly keys: readonly (readonly number[])[];
    readonly sizes: readonly number[];
    readonly blockTokens: number;
  },
): readonly number[] {
  const caches = sizes.map((blocksMax) => new LeastRecent(blocksMax));
  return requests.map(({ promptTokens }, at) => {
    const blocks = keys[at] ?? [];
    let best: LeastRecent | undefined;
    let matched = 0;
    let most = Number.NEGATIVE_INFINITY;
    for (const cache of caches) {
      const match = cache.match(blocks);
      // What all prompts begin with would draw them all to one cache, did it not count what they drive out there.
      const worth = match - cache.drivenOut(blocks.length - match);
      if (worth < most || (worth === most && best !== undefined && !cache.isFreerThan(best)))
        continue;
      most = worth;
      matched = match;
      best = cache;
    }
    best?.use(blocks, at);
    return Math.min(promptTokens, matched * blockTokens);
  });
}

/** A cache of so many blocks. */
class LeastRecent {
  readonly #blocksMax: number;
  /** When each was used, longest ago first. */
  readonly #usedAt = new Map<number, number>();

  constructor(blocksMax: number) {
    this.#blocksMax = blocksMax;
  }

  match(blocks: readonly number[]): number {
    const missing = blocks.findIndex((block) => !this.#usedAt.has(block));
    return missing < 0 ? blocks.length : missing;
  }

  /** Ends of prompts are forgotten before their beginnings. */
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

  /** Blocks that make room for so many new ones. */
  drivenOut(blocks: number): number {
    return Math.max(0, this.#usedAt.size + blocks - this.#blocksMax);
  }

  /** Whether less would be lost by putting something here: free room, then what was used longer ago. */
  isFreerThan(other: LeastRecent): boolean {
    return this.#lossAt() < other.#lossAt();
  }

  #lossAt(): number {
    const free = this.#blocksMax - this.#usedAt.size;
    if (free > 0) return -free;
    const [oldest = 0] = this.#usedAt.values();
    return oldest;
  }
}
