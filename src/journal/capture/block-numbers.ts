import type { PromptBlocks } from '../../framework/request.ts';
import type { BlockRuns, CapturedText } from './capture-record.ts';
import { NumberTable } from './number-table.ts';

/** Blocks beyond this many lose their numbers, least recently used first. They take 34 MB. */
const BLOCKS_MAX = 1_000_000;

/**
 * Replaces block hashes by numbers in order of first use: a capture then shows which prompts begin
 * alike, and nothing that a guessed text could be compared with.
 */
export class BlockNumbers {
  /** The blocks of each of two tables. When `recent` is full, it takes the place of `before`. */
  readonly #halfMax: number;
  #recent = new NumberTable();
  #before = new NumberTable();
  #next = 0;

  constructor(blocksMax: number = BLOCKS_MAX) {
    this.#halfMax = blocksMax / 2;
  }

  get next(): number {
    return this.#next;
  }

  /** `afterNew`: the block follows a new one, so it cannot be in the older table. */
  numberOf(low: number, high: number, afterNew: boolean): number {
    const recent = this.#recent.find(low, high);
    if (recent >= 0) return recent;
    const before = afterNew ? -1 : this.#before.find(low, high);
    const number = before >= 0 ? before : this.#next++;
    if (this.#recent.size >= this.#halfMax) {
      this.#before = this.#recent;
      this.#recent = new NumberTable(this.#before);
      this.#recent.find(low, high);
    }
    this.#recent.add(low, high, number);
    return number;
  }
}

/** A prompt with hashes made of the numbers: equal where the original ones were. */
export function promptOfRuns(
  runs: BlockRuns,
  blockTokens: number,
  rest?: number,
  others?: readonly CapturedText[],
): PromptBlocks {
  const first = textOfRuns(runs, blockTokens, rest);
  if (others === undefined) return first;
  return {
    ...first,
    others: others.map(([blocks, behind]) => textOfRuns(blocks, blockTokens, behind)),
  };
}

function textOfRuns(runs: BlockRuns, blockTokens: number, rest?: number): PromptBlocks {
  const count = runs.reduce((sum, [, length]) => sum + length, 0);
  const words = new Uint32Array(2 * (rest === undefined ? count : count + 1));
  let block = 0;
  for (const [first, length] of runs) {
    for (let number = first; number < first + length; number++) putHash(words, block++, number);
  }
  if (rest === undefined) return { count, blockTokens, words };
  putHash(words, count, rest);
  return { count, blockTokens, words, hasRest: true };
}

function putHash(words: Uint32Array, block: number, number: number): void {
  words[2 * block] = mixed(number);
  words[2 * block + 1] = mixed(number ^ 0x5bd1_e995);
}

/** Spreads numbers over 32 bits without collisions: each step is invertible. */
function mixed(number: number): number {
  let hash = Math.imul(number ^ (number >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
