import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { CACHE_CONFIG } from '../../framework/endpoint-attributes.ts';
import { HASHED_BLOCK_TOKENS } from '../../framework/request.ts';
import { positiveOr } from '../parameters/positive-or.ts';
import { hashedPerBlock } from './counted-blocks.ts';

/** The reference's block where `blockSizeTokens` is not given. */
const BLOCK_TOKENS_DEFAULT = 16;
const MATCHED_TOKENS_MAX = 131_072;
const MATCHED_BLOCKS_MAX = 2048;

export interface ApproxPrefixConfig {
  readonly autoTune: boolean;
  /** Without `autoTune`, or until an engine has reported its block. */
  readonly blockSizeTokens?: number | undefined;
  /** `blockSizeTokens` by the reference's older name. */
  readonly blockSize?: number | undefined;
  /** Counts only where `maxPrefixTokensToMatch` is zero. Zero means no limit. */
  readonly maxPrefixBlocksToMatch?: number | undefined;
  readonly maxPrefixTokensToMatch?: number | undefined;
  /** In blocks. Used when `autoTune` is off. */
  readonly lruCapacityPerServer: number;
  /**
   * The index follows what engines do: blocks of a request in flight are not forgotten, and are as
   * if used again when it ends; only whole blocks count, of the whole prompt. Without it, the index
   * counts as the reference does: by when a request was sent, and with the rest of the prompt
   * behind its last whole block, over the first 131,072 tokens.
   */
  readonly keepInFlight: boolean;
}

export const approxPrefixConfig: z.ZodType<ApproxPrefixConfig> = z.lazy(() =>
  z
    .strictObject({
      autoTune: z.boolean().default(true),
      blockSizeTokens: z.int().nonnegative().optional(),
      blockSize: z.int().nonnegative().optional(),
      maxPrefixBlocksToMatch: z.int().nonnegative().optional(),
      maxPrefixTokensToMatch: z.int().nonnegative().optional(),
      lruCapacityPerServer: positiveOr(31_250),
      keepInFlight: z.boolean().default(false),
    })
    .refine(({ autoTune, blockSizeTokens }) => autoTune || blockSizeTokens !== 0, {
      path: ['blockSizeTokens'],
      error: 'must be above 0 where autoTune is off',
    }),
);

/** Every prompt is compared as a whole. */
export const UNLIMITED_APPROX_CONFIG: ApproxPrefixConfig = approxPrefixConfig.parse({
  maxPrefixTokensToMatch: 0,
  maxPrefixBlocksToMatch: 0,
});

/** The tokens of a block by the configuration alone: the reference counts in no smaller ones. */
export function blockTokensOf({ blockSizeTokens, blockSize }: ApproxPrefixConfig): number {
  const given = blockSizeTokens ?? BLOCK_TOKENS_DEFAULT;
  // The older name counts where the newer one has its default.
  const tokens = given === BLOCK_TOKENS_DEFAULT ? blockSize || given : given;
  return Math.max(HASHED_BLOCK_TOKENS, tokens);
}

/**
 * How many hashed blocks are one block that counts: the reference counts in the engine's blocks.
 */
export function hashedInBlock(config: ApproxPrefixConfig, endpoints: readonly Endpoint[]): number {
  if (config.keepInFlight) return 1;
  const reported = config.autoTune ? endpoints[0]?.attribute(CACHE_CONFIG) : undefined;
  const tokens = reported?.matchTokens ?? reported?.blockTokens ?? blockTokensOf(config);
  return hashedPerBlock(tokens);
}

/** How many blocks of so many tokens of a prompt are compared at most. */
export function blocksToMatch(config: ApproxPrefixConfig, blockTokens: number): number {
  const { maxPrefixTokensToMatch, maxPrefixBlocksToMatch, keepInFlight } = config;
  const tokens = maxPrefixTokensToMatch ?? (keepInFlight ? 0 : MATCHED_TOKENS_MAX);
  if (tokens > 0) return Math.floor(tokens / blockTokens);
  const blocks = maxPrefixBlocksToMatch ?? (keepInFlight ? 0 : MATCHED_BLOCKS_MAX);
  return blocks === 0 ? Number.POSITIVE_INFINITY : blocks;
}
