import type { InferenceRequest, PromptBlocks } from '../src/framework/request.ts';
import { chainBlockIds } from '../src/openai/prompts/chain-block-ids.ts';

/** A prompt of these blocks, hashed like the prompt of a request. */
export function promptOf(...ids: readonly number[]): PromptBlocks {
  return chainBlockIds(ids, { seedText: 'm', blockTokens: 64 });
}

/** Number of leading blocks that two prompts share. */
export function sharedBlocks(a: InferenceRequest, b: InferenceRequest): number {
  let block = 0;
  while (
    block < Math.min(a.prompt.count, b.prompt.count) &&
    a.prompt.words[2 * block] === b.prompt.words[2 * block] &&
    a.prompt.words[2 * block + 1] === b.prompt.words[2 * block + 1]
  ) {
    block += 1;
  }
  return block;
}
