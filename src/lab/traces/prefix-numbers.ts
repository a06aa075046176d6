import type { Trace, TraceRequest } from './trace.ts';

/** Numbers blocks by their whole prefix, from 0 in the order in which they first occur. */
export class PrefixNumbers {
  /** For each number, the numbers of the blocks that follow it, by their ids. */
  readonly #after: Map<number | string, number>[] = [];
  /** For each model, the numbers of first blocks, by their ids. */
  readonly #first = new Map<string, Map<number | string, number>>();
  #next = 0;

  /** One number for each block. Equal numbers mean the same model and the same text up to there. */
  of({ model, blockIds }: Pick<TraceRequest, 'model' | 'blockIds'>): readonly number[] {
    let children = this.#first.get(model) ?? new Map<number | string, number>();
    this.#first.set(model, children);
    const numbers: number[] = [];
    for (const id of blockIds) {
      let number: number | undefined = children.get(id);
      if (number === undefined) {
        number = this.#next++;
        children.set(id, number);
      }
      numbers.push(number);
      this.#after[number] ??= new Map();
      children = this.#after[number] ?? children;
    }
    return numbers;
  }
}

/** The block numbers of runs of consecutive ones. */
export function blockIdsOf(runs: readonly (readonly [first: number, count: number])[]): number[] {
  return runs.flatMap(([first, length]) => Array.from({ length }, (_, at) => first + at));
}

/**
 * For each request, the numbers of its blocks of another size, which must be a multiple of the
 * trace's own. The last block may not be full. Blocks without an id in the trace get new numbers.
 */
export function* inBlocksOf(
  blockTokens: number,
  { requests, blockTokens: ownTokens }: Trace,
): Generator<readonly number[], void> {
  const each = blockTokens / ownTokens;
  const prefixes = new PrefixNumbers();
  const numbers = new Map<number, number>();
  let next = 0;
  for (const request of requests) {
    const fine = prefixes.of(request);
    yield Array.from({ length: Math.ceil(request.promptTokens / blockTokens) }, (_, index) => {
      // The number of the last small block stands for the whole prefix.
      const last = fine[(index + 1) * each - 1];
      const known = last === undefined ? undefined : numbers.get(last);
      if (known !== undefined) return known;
      if (last !== undefined) numbers.set(last, next);
      return next++;
    });
  }
}
