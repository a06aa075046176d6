import type { PromptBlocks } from '../framework/request.ts';
import type { BlockRuns } from './capture-record.ts';

/** Blocks told apart; the one unused for longest is forgotten first and gets a new number when it comes again. 100 MB. */
const BLOCKS_MAX = 1_000_000;

/**
 * Numbers in place of hashes: blocks are numbered as they first come, so that a capture says which prompts begin alike and
 * nothing else that could be compared with a guess.
 */
export class BlockNumbers {
  /** By 53 bits of the hash, in order of last use. */
  readonly #numbers = new Map<number, number>();
  readonly #blocksMax: number;
  #next = 0;

  constructor(blocksMax: number = BLOCKS_MAX) {
    this.#blocksMax = blocksMax;
  }

  runsOf({ count, words }: PromptBlocks): BlockRuns {
    const runs: [number, number][] = [];
    for (let index = 0; index < count; index++) {
      const high = (words[2 * index + 1] as number) >>> 11;
      const number = this.#numberOf(high * 0x1_0000_0000 + (words[2 * index] as number));
      const last = runs.at(-1);
      if (last !== undefined && last[0] + last[1] === number) last[1] += 1;
      else runs.push([number, 1]);
    }
    while (this.#numbers.size > this.#blocksMax) {
      const [oldest = Number.NaN] = this.#numbers.keys();
      this.#numbers.delete(oldest);
    }
    return runs;
  }

  #numberOf(hash: number): number {
    const known = this.#numbers.get(hash);
    const number = known ?? this.#next++;
    if (known !== undefined) this.#numbers.delete(hash);
    this.#numbers.set(hash, number);
    return number;
  }
}

/** A prompt with hashes made of the numbers: equal where those were. */
export function promptOfRuns(runs: BlockRuns, blockTokens: number): PromptBlocks {
  const count = runs.reduce((sum, [, length]) => sum + length, 0);
  const words = new Uint32Array(2 * count);
  let at = 0;
  for (const [first, length] of runs) {
    for (let number = first; number < first + length; number++) {
      words[at] = mixed(number);
      words[at + 1] = mixed(number ^ 0x5bd1_e995);
      at += 2;
    }
  }
  return { count, blockTokens, words };
}

/** Well spread, and different for different numbers: each step can be undone. */
function mixed(number: number): number {
  let hash = Math.imul(number ^ (number >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
