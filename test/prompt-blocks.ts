import type { PromptBlocks } from '../src/framework/request.ts';
import { chainBlockIds } from '../src/openai/chain-block-ids.ts';

/** A prompt of these blocks, hashed as requests are. */
export function promptOf(...ids: readonly number[]): PromptBlocks {
  return chainBlockIds(ids, { seedText: 'm', blockTokens: 64 });
}
