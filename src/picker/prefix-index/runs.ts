import { NO_RECORD, Records } from './records.ts';
import { highOf, RunBlocks, SEGMENT_BLOCKS } from './run-blocks.ts';
import { RunTable } from './run-table.ts';

/** Fields: the key of the first block, the next run of its bucket, the other blocks, the length. */
const LOW = 0;
const HIGH = 1;
const NEXT = 2;
const SEGMENT = 3;
/** The place of the second block in the chain of segments. */
const PLACE = 4;
const LENGTH = 5;
const HOLDING = 6;
const FIELDS = 7;

/**
 * Runs of blocks that have been used together so far, each found by its first block. A chain that
 * leaves a run within it goes on in another run. Blocks are distinguished by 48 bits of their hash.
 */
export class Runs {
  readonly #runs = new Records(FIELDS);
  readonly #blocks = new RunBlocks();
  readonly #table = new RunTable(this.#runs, { low: LOW, high: HIGH, next: NEXT });

  get bytes(): number {
    return this.#runs.bytes + this.#blocks.bytes + this.#table.bytes;
  }

  /** At least 1. */
  length(run: number): number {
    return this.#runs.get(run, LENGTH);
  }

  /** The first of the holdings of a run. */
  holding(run: number): number {
    return this.#runs.get(run, HOLDING);
  }

  setHolding(run: number, holding: number): void {
    this.#runs.set(run, HOLDING, holding);
  }

  /** The run that begins with this block, or NONE. */
  find(words: Uint32Array, block: number): number {
    return this.#table.find((words[2 * block] as number) >> 0, highOf(words, block));
  }

  /**
   * How many blocks from `from` on, up to `to`, are those of a run that `find` found for `from`.
   */
  matching(run: number, words: Uint32Array, from: number, to: number): number {
    const runs = this.#runs;
    const end = Math.min(to, from + runs.get(run, LENGTH));
    const [segment, place] = [runs.get(run, SEGMENT), runs.get(run, PLACE)];
    return 1 + this.#blocks.matching(segment, place, words, from + 1, end);
  }

  /** Writes the `count` first hashes of a run into `words`, from block `to` on. */
  read(run: number, count: number, words: Uint32Array, to: number): void {
    const runs = this.#runs;
    words[2 * to] = runs.get(run, LOW);
    words[2 * to + 1] = runs.get(run, HIGH);
    const [segment, place] = [runs.get(run, SEGMENT), runs.get(run, PLACE)];
    this.#blocks.read(segment, place, words, { from: to + 1, to: to + count });
  }

  /** A new run of the blocks from `from` up to `to`. No run may begin with the first of them. */
  add(words: Uint32Array, from: number, to: number): number {
    const run = this.#insert((words[2 * from] as number) >> 0, highOf(words, from), 1);
    if (to > from + 1) this.extend(run, words, from + 1, to);
    return run;
  }

  /** Puts blocks behind the last one of a run. */
  extend(run: number, words: Uint32Array, from: number, to: number): void {
    const runs = this.#runs;
    const place = runs.get(run, PLACE) + this.length(run) - 1;
    runs.set(run, SEGMENT, this.#blocks.append(runs.get(run, SEGMENT), place, words, from, to));
    runs.set(run, LENGTH, this.length(run) + to - from);
  }

  /**
   * Ends a run behind its first `length` blocks, and returns a run of the others, without holdings.
   */
  split(run: number, length: number): number {
    const runs = this.#runs;
    const blocks = this.#blocks;
    const place = runs.get(run, PLACE);
    const segment = runs.get(run, SEGMENT);
    const rest = this.length(run) - length;
    const block = place + length - 1;
    const at = blocks.segmentAt(segment, block);
    const second = this.#insert(blocks.low(at, block), blocks.high(at, block), rest);
    if (rest > 1) {
      const end = length === 1 ? 0 : block;
      runs.set(second, SEGMENT, blocks.cutOut(segment, end, block + 1));
      runs.set(second, PLACE, (block + 1) % SEGMENT_BLOCKS);
      this.#ended(run, length);
    } else this.truncate(run, length);
    return second;
  }

  /** Forgets the blocks behind the first `length`. */
  truncate(run: number, length: number): void {
    const runs = this.#runs;
    const segment = runs.get(run, SEGMENT);
    if (length === 1) this.#blocks.free(segment);
    else this.#blocks.cutAfter(segment, runs.get(run, PLACE) + length - 2);
    this.#ended(run, length);
  }

  remove(run: number): void {
    this.#table.remove(run);
    this.#blocks.free(this.#runs.get(run, SEGMENT));
    this.#runs.release(run);
  }

  #ended(run: number, length: number): void {
    this.#runs.set(run, LENGTH, length);
    if (length > 1) return;
    this.#runs.set(run, SEGMENT, NO_RECORD);
    this.#runs.set(run, PLACE, 0);
  }

  #insert(low: number, high: number, length: number): number {
    const runs = this.#runs;
    const run = runs.take();
    runs.set(run, LOW, low);
    runs.set(run, HIGH, high);
    runs.set(run, SEGMENT, NO_RECORD);
    runs.set(run, PLACE, 0);
    runs.set(run, LENGTH, length);
    runs.set(run, HOLDING, NO_RECORD);
    this.#table.insert(run);
    return run;
  }
}
