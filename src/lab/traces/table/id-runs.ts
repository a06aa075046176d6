import { NumberColumn } from './number-column.ts';
import { TextNumbers } from './text-numbers.ts';

type BlockId = number | string;

/** Consecutive block numbers. */
export type IdRun = readonly [first: number, count: number];

/**
 * Lists of block ids, one behind another, as runs of consecutive ids: prompts that grow turn by
 * turn have a run for each turn, however many blocks it has. Ids that are texts are numbers below 0.
 */
export class IdRuns {
  readonly #first = new NumberColumn(Float64Array);
  readonly #count = new NumberColumn(Uint32Array);
  readonly #texts = new TextNumbers();
  #length = 0;

  /** How many runs there are. */
  get length(): number {
    return this.#length;
  }

  #numberOf(id: BlockId): number {
    return typeof id === 'number' ? id : -1 - this.#texts.numberOf(id);
  }

  firstOf(run: number): number {
    return this.#first.get(run);
  }

  countOf(run: number): number {
    return this.#count.get(run);
  }

  /** The ids as runs of numbers. */
  runsOf(ids: readonly BlockId[]): readonly IdRun[] {
    const runs: IdRun[] = [];
    for (let at = 0; at < ids.length; ) {
      const first = this.#numberOf(ids[at] as BlockId);
      let count = 1;
      while (at + count < ids.length && ids[at + count] === first + count) count += 1;
      runs.push([first, count]);
      at += count;
    }
    return runs;
  }

  /** Appends the runs from a place on, without the first ids of the run there. */
  append(runs: readonly IdRun[], from: number, skip: number): void {
    for (let at = from; at < runs.length; at++) {
      const [first, count] = runs[at] as IdRun;
      const skipped = at === from ? skip : 0;
      this.#first.set(this.#length, first + skipped);
      this.#count.set(this.#length, count - skipped);
      this.#length += 1;
    }
  }

  /** Adds so many ids to a list: those from a place on, which is a run and ids of it to skip. */
  pushIds(
    ids: BlockId[],
    { run, skip }: { readonly run: number; readonly skip: number },
    count: number,
  ): void {
    const end = ids.length + count;
    for (let at = run, skipped = skip; ids.length < end; at++, skipped = 0) {
      const first = this.firstOf(at) + skipped;
      const most = Math.min(this.countOf(at) - skipped, end - ids.length);
      for (let id = first; id < first + most; id++) {
        ids.push(id < 0 ? this.#texts.textOf(-1 - id) : id);
      }
    }
  }
}
