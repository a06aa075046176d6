import { HASHED_BLOCK_TOKENS, type PromptBlocks } from '../../framework/request.ts';

/** How many hashed blocks are one of so many tokens, at least one. */
export function hashedPerBlock(tokens: number): number {
  return Math.max(1, Math.floor(tokens / HASHED_BLOCK_TOKENS));
}

/**
 * The prompt in blocks of `hashed` hashed ones each, as the reference counts: what follows the last
 * full block is a block, too. At most `blocksMax` of them for each text.
 */
export function countedBlocks(
  prompt: PromptBlocks,
  hashed: number,
  blocksMax: number,
): PromptBlocks {
  const { others, ...first } = prompt;
  const counted = countedText(first, hashed, blocksMax);
  if (others === undefined) return counted;
  return { ...counted, others: others.map((text) => countedText(text, hashed, blocksMax)) };
}

function countedText(prompt: PromptBlocks, hashed: number, blocksMax: number): PromptBlocks {
  const whole = prompt.hasRest === true ? prompt.count + 1 : prompt.count;
  const blockTokens = prompt.blockTokens * hashed;
  const count = Math.min(Math.ceil(whole / hashed), blocksMax);
  if (hashed === 1) return { count, blockTokens, words: prompt.words };
  const words = new Uint32Array(2 * count);
  for (let block = 0; block < count; block++) {
    // A hash covers the prompt up to its block.
    const last = Math.min((block + 1) * hashed, whole) - 1;
    words[2 * block] = prompt.words[2 * last] as number;
    words[2 * block + 1] = prompt.words[2 * last + 1] as number;
  }
  return { count, blockTokens, words };
}
