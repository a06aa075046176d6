import { HASHED_BLOCK_TOKENS, type PromptBlocks } from '../../framework/request.ts';
import type { KeyedHash } from '../../framework/values/keyed-hash.ts';
import { Chain } from './chain.ts';
import type { ContentBlocks } from './content-blocks.ts';
import { chainTexts } from './text-chains.ts';

/** Chains runs in template order: hash i covers the root and all blocks up to i. */
export function chainRuns(
  runs: readonly ContentBlocks[],
  root: string,
  hash: KeyedHash,
): PromptBlocks {
  const chain = new Chain(root, hash);
  const list = listOf(runs);
  return list < 0 ? chained(runs, chain, 0) : chainedList(runs, list, chain, undefined);
}

/**
 * The blocks of a prompt that has been read to its end, with the rest behind its last full block.
 */
export function chainPrompt(
  runs: readonly ContentBlocks[],
  root: string,
  hash: KeyedHash,
): PromptBlocks {
  const chain = new Chain(root, hash);
  const list = listOf(runs);
  if (list >= 0) return chainedList(runs, list, chain, hash);
  const prompt = chained(runs, chain, 1);
  if (runs.at(-1)?.hashRest() !== true) return prompt;
  chain.add(hash.low, hash.high);
  const { count, words } = prompt;
  words[2 * count] = chain.low;
  words[2 * count + 1] = chain.high;
  return { ...prompt, hasRest: true };
}

/** The place of the run of a list with several texts, or -1. Runs behind it do not count. */
function listOf(runs: readonly ContentBlocks[]): number {
  for (let at = 0; at < runs.length; at++) {
    if ((runs[at] as ContentBlocks).ends.length > 0) return at;
  }
  return -1;
}

/**
 * The texts of a list, each behind the runs before it, such as a query. Their blocks are those of
 * the first text only, since an engine computes them once.
 */
function chainedList(
  runs: readonly ContentBlocks[],
  list: number,
  chain: Chain,
  rest: KeyedHash | undefined,
): PromptBlocks {
  const head = chained(runs.slice(0, list), chain, 0);
  const texts = chainTexts(runs[list] as ContentBlocks, chain, rest);
  if (head.count === 0) return texts;
  const words = new Uint32Array(head.words.length + texts.words.length);
  words.set(head.words);
  words.set(texts.words, head.words.length);
  return { ...texts, count: head.count + texts.count, words };
}

/** With room for so many blocks more. `chain` then stands behind the last block. */
function chained(runs: readonly ContentBlocks[], chain: Chain, room: number): PromptBlocks {
  let count = 0;
  for (const run of runs) count += run.count;
  const words = new Uint32Array(2 * (count + room));
  let block = 0;
  for (const run of runs) block = appendRun(chain, run, words, block);
  return { count, blockTokens: HASHED_BLOCK_TOKENS, words };
}

/** A prompt's chain with a run appended; `root` and `hash` must be those of the prompt. */
export function extendChain(
  prompt: PromptBlocks,
  run: ContentBlocks,
  { root, hash }: { readonly root: string; readonly hash: KeyedHash },
): PromptBlocks {
  const { count, blockTokens } = prompt;
  const words = new Uint32Array(2 * (count + run.count));
  words.set(prompt.words.subarray(0, 2 * count));
  const chain = new Chain(root, hash);
  if (count > 0) chain.resume(words[2 * count - 2] as number, words[2 * count - 1] as number);
  appendRun(chain, run, words, count);
  return { count: count + run.count, blockTokens, words };
}

/** Writes the run's chained hashes into `words` from `block` on; returns the block behind them. */
function appendRun(chain: Chain, run: ContentBlocks, words: Uint32Array, block: number): number {
  let at = 2 * block;
  for (let index = 0; index < run.count; index++) {
    chain.add(run.word(2 * index), run.word(2 * index + 1));
    words[at++] = chain.low;
    words[at++] = chain.high;
  }
  return block + run.count;
}
