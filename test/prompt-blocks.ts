import type { PromptBlocks } from '../src/framework/request.ts';
import { chainBlockIds } from '../src/openai/prompts/chain-block-ids.ts';

/** A prompt of these blocks, hashed like the prompt of a request. */
export function promptOf(...ids: readonly number[]): PromptBlocks {
  return chainBlockIds(ids, { seedText: 'm', blockTokens: 64 });
}
