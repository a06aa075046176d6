import type { Trace, TraceRequest } from './trace.ts';

/** Numbers for blocks by all that is before them, from 0 in the order in which they first come. */
export class PrefixNumbers {
  /** What follows each number, by its id; what follows nothing, by its model. */
  readonly #after: Map<number | string, number>[] = [];
  readonly #first = new Map<string, Map<number | string, number>>();
  #next = 0;

  /** One number for each block: equal numbers are equal text of the same model from the start. */
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

/**
 * The blocks of each request in another size, the last perhaps not full: one number for each, new ones where the trace has
 * no id. That size must be a multiple of the trace's own.
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
      // The whole prefix is in the number of its last small block.
      const last = fine[(index + 1) * each - 1];
      const known = last === undefined ? undefined : numbers.get(last);
      if (known !== undefined) return known;
      if (last !== undefined) numbers.set(last, next);
      return next++;
    });
  }
}
