import type { PromptBlocks } from '../framework/request.ts';
import { Chain, finalizeHash } from './content-blocks.ts';

interface ChainOptions {
  /** Such as the model: equal ids with different seed texts are different blocks. */
  readonly seedText: string;
  readonly blockTokens: number;
}

/** Hashes a prompt given as one id per full block, as in traces: equal ids are equal text. */
export function chainBlockIds(
  ids: readonly (number | bigint | string)[],
  { seedText, blockTokens }: ChainOptions,
): PromptBlocks {
  const words = new Uint32Array(2 * ids.length);
  const chain = new Chain(seedText, 0);
  ids.forEach((id, index) => {
    const [low, high] = toWords(id);
    chain.add(low, high);
    words[2 * index] = chain.low;
    words[2 * index + 1] = chain.high;
  });
  return { count: ids.length, blockTokens, words };
}

/** The id as two 32-bit words. */
function toWords(id: number | bigint | string): readonly [low: number, high: number] {
  if (typeof id === 'number' && Number.isSafeInteger(id)) {
    return [id | 0, Math.floor(id / 0x1_0000_0000) | 0];
  }
  let low = 0x811c9dc5;
  let high = 0x2545f491;
  const text = String(id);
  for (let index = 0; index < text.length; index++) {
    low = Math.imul(low ^ text.charCodeAt(index), 0x01000193);
    high = Math.imul(high ^ text.charCodeAt(index), 0x85ebca6b) + low;
  }
  return [finalizeHash(low), finalizeHash(high)];
}
