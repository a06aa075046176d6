import { HASHED_BLOCK_TOKENS, NO_BLOCKS, type PromptBlocks } from '../../framework/request.ts';
import type { KeyedHash } from '../../framework/values/keyed-hash.ts';
import type { Chain } from './chain.ts';
import type { ContentBlocks } from './content-blocks.ts';

/**
 * The texts of a list, each a chain of its own from where `chain` stands. One that fills no block
 * and has no rest is left out. With `rest`, the last text has been read to its end.
 */
export function chainTexts(
  run: ContentBlocks,
  chain: Chain,
  rest: KeyedHash | undefined,
): PromptBlocks {
  const { low, high } = chain;
  const hasRest = rest !== undefined && run.hashRest();
  const ends = [...run.ends, { block: run.count, hasRest }];
  const texts: PromptBlocks[] = [];
  let from = 0;
  for (const [index, end] of ends.entries()) {
    chain.resume(low, high);
    // The rest of the last text is no block of the run.
    const behind = end.hasRest && index === ends.length - 1 ? rest : undefined;
    const words = new Uint32Array(2 * (end.block - from + (behind === undefined ? 0 : 1)));
    let at = 0;
    const add = (blockLow: number, blockHigh: number): void => {
      chain.add(blockLow, blockHigh);
      words[at++] = chain.low;
      words[at++] = chain.high;
    };
    for (; from < end.block; from++) add(run.word(2 * from), run.word(2 * from + 1));
    if (behind !== undefined) add(behind.low, behind.high);
    const blocks = words.length / 2;
    if (blocks === 0) continue;
    const count = end.hasRest ? blocks - 1 : blocks;
    texts.push({
      count,
      blockTokens: HASHED_BLOCK_TOKENS,
      words,
      ...(end.hasRest && { hasRest: true }),
    });
  }
  const [first = NO_BLOCKS, ...others] = texts;
  return others.length === 0 ? first : { ...first, others };
}
