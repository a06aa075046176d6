import type { PromptBlocks } from '../../framework/request.ts';
import type { BlockRuns } from './capture-record.ts';
import { NumberTable } from './number-table.ts';

/** Blocks told apart; those unused for longest are forgotten first and get new numbers when they come again. 34 MB. */
const BLOCKS_MAX = 1_000_000;

/**
 * Numbers in place of hashes: blocks are numbered as they first come, so that a capture says which prompts begin alike and
 * nothing else that could be compared with a guess.
 */
export class BlockNumbers {
  /** Half of all: when the one is full, what was used since stays, and the other is forgotten. */
  readonly #halfMax: number;
  #recent = new NumberTable();
  #before = new NumberTable();
  #next = 0;

  constructor(blocksMax: number = BLOCKS_MAX) {
    this.#halfMax = blocksMax / 2;
  }

  /** The next block that is new gets this one. */
  get next(): number {
    return this.#next;
  }

  /** Of the block with this hash. What comes after a block that is new is new, too: it is looked for in one place only. */
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
