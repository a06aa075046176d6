import type { TraceRequest } from '../../src/lab/traces/trace.ts';

/** Numbers blocks as `PrefixNumbers` does, with a map for each block: too large for large traces. */
export class NaivePrefixNumbers {
  readonly #numbers = new Map<string, number>();

  of({ model, blockIds }: Pick<TraceRequest, 'model' | 'blockIds'>): readonly number[] {
    let prefix = JSON.stringify(model);
    return blockIds.map((id) => {
      prefix += JSON.stringify([id]);
      const number = this.#numbers.get(prefix) ?? this.#numbers.size;
      this.#numbers.set(prefix, number);
      return number;
    });
  }
}
