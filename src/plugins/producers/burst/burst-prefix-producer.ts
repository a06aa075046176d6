import { z } from 'zod';
import { type PrefixMatch, prefixMatchKey } from '../../../framework/cycle-facts.ts';
import {
  type DataSourceDefinition,
  type DataSourceHost,
  defineDataSource,
  type Producer,
} from '../../../framework/plugin.ts';
import {
  HASHED_BLOCK_TOKENS,
  type InferenceRequest,
  type PromptBlocks,
} from '../../../framework/request.ts';
import type { Timer } from '../../../framework/runtime.ts';
import { countedBlocks, hashedPerBlock } from '../counted-blocks.ts';
import { assignBatch, type BatchEntry } from './assign-batch.ts';

const WINDOW_MS_MAX = 10_000;
/** Without `maxPrefixTokensToMatch`. */
const BLOCKS_MAX = 2048;

interface BurstConfig {
  readonly windowDurationMs: number;
  readonly maxPerReplica: number;
  readonly blockSizeTokens: number;
  readonly maxPrefixTokensToMatch: number;
  readonly minColocateBlocks: number;
  readonly maxBatchSize: number;
  readonly balanceBy: 'requests' | 'tokens';
}

/** -1 is no limit. */
const limit = z.lazy(() =>
  z.union([z.literal(-1), z.int().min(1)], 'must be -1 for no limit, or at least 1'),
);

const config = z.lazy(() =>
  z.strictObject({
    windowDurationMs: z.int().min(1).max(WINDOW_MS_MAX).default(100),
    maxPerReplica: limit.default(-1),
    /** Rounded down to a multiple of 64, at least 64. */
    blockSizeTokens: z.int().min(1).default(64),
    maxPrefixTokensToMatch: z.int().min(0).default(0),
    minColocateBlocks: z.int().min(0).default(0),
    maxBatchSize: limit.default(1000),
    balanceBy: z.enum(['requests', 'tokens']).default('requests'),
  }),
);

/**
 * Holds requests back for a short window and places those of one window together, so that prompts
 * that begin alike are computed once. `prefix-cache-scorer` reads the place as a full match.
 */
export const burstPrefixProducer: DataSourceDefinition = defineDataSource({
  type: 'burst-prefix-cache-producer',
  config,
  uncaptured: 'which requests came in one burst',
  provides: (_config, name) => [prefixMatchKey(name)],
  start: (parsed, host) => new BurstPrefixProducer(parsed, host),
});

interface Batch {
  readonly entries: BatchEntry[];
  readonly ready: (() => void)[];
  readonly timer: Timer;
}

class BurstPrefixProducer implements Producer {
  readonly facts: Producer['facts'];
  readonly #config: BurstConfig;
  readonly #host: DataSourceHost;
  readonly #entries = new WeakMap<InferenceRequest, BatchEntry>();
  #batch: Batch | undefined;

  constructor(parsed: BurstConfig, host: DataSourceHost) {
    this.#config = parsed;
    this.#host = host;
    this.facts = [
      {
        key: prefixMatchKey(host.name),
        compute: (_endpoints, { request }) => this.#matchOf(request),
      },
    ];
  }

  prepare(request: InferenceRequest, _body: readonly Uint8Array[], ready: () => void): boolean {
    const { maxBatchSize, windowDurationMs, balanceBy } = this.#config;
    const batch = (this.#batch ??= {
      entries: [],
      ready: [],
      timer: this.#host.runtime.clock.setTimer(windowDurationMs, () => this.#seal()),
    });
    // One that finds the batch full is placed by the other scorers alone.
    if (maxBatchSize > 0 && batch.entries.length >= maxBatchSize) return false;
    const prompt = this.#countedOf(request);
    const weight = balanceBy === 'tokens' ? request.promptTokens : 1;
    const entry = { prompt, blocks: prompt.count, weight, assigned: undefined };
    batch.entries.push(entry);
    batch.ready.push(ready);
    this.#entries.set(request, entry);
    return true;
  }

  stop(): void {
    this.#batch?.timer.cancel();
    this.#seal();
  }

  #seal(): void {
    const batch = this.#batch;
    if (batch === undefined) return;
    this.#batch = undefined;
    const { maxPerReplica, minColocateBlocks, blockSizeTokens } = this.#config;
    const blockTokens = HASHED_BLOCK_TOKENS * hashedPerBlock(blockSizeTokens);
    assignBatch(batch.entries, this.#host.pool.snapshot(), {
      maxPerReplica: maxPerReplica < 0 ? undefined : maxPerReplica,
      minColocateBlocks: Math.min(
        minColocateBlocks,
        Math.max(1, Math.round((minColocateBlocks * blockSizeTokens) / blockTokens)),
      ),
    });
    for (const ready of batch.ready) ready();
  }

  /** The prompt in the blocks of the reference. */
  #countedOf({ prompt }: InferenceRequest): PromptBlocks {
    const { maxPrefixTokensToMatch: tokens, blockSizeTokens } = this.#config;
    const hashed = hashedPerBlock(blockSizeTokens);
    const blocksMax = tokens > 0 ? Math.floor(tokens / (prompt.blockTokens * hashed)) : BLOCKS_MAX;
    return countedBlocks(prompt, hashed, blocksMax);
  }

  #matchOf(request: InferenceRequest): PrefixMatch {
    const entry = this.#entries.get(request);
    const { blockTokens } = entry?.prompt ?? request.prompt;
    const totalBlocks = entry?.blocks ?? 0;
    const matchedBlocks: PrefixMatch['matchedBlocks'] = ({ id }) =>
      entry?.assigned === id ? totalBlocks : 0;
    return { totalBlocks, blockTokens, matchedBlocks };
  }
}
