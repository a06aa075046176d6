import { NumberColumn } from '../table/number-column.ts';
import type { UncountedAnswer } from './answer-lengths.ts';

/** The answers of a trace whose tokens no server reported: all of them, if clients ask for no count. */
export class UncountedAnswers {
  readonly #row = new NumberColumn(Uint32Array);
  readonly #streaming = new NumberColumn(Uint8Array);
  readonly #bytes = new NumberColumn(Float64Array, Number.NaN);
  readonly #tokensMax = new NumberColumn(Float64Array, Number.NaN);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(row: number, { streaming, bytes, tokensMax }: UncountedAnswer): void {
    const at = this.#length++;
    this.#row.set(at, row);
    this.#streaming.set(at, Number(streaming));
    this.#bytes.set(at, bytes ?? Number.NaN);
    this.#tokensMax.set(at, tokensMax ?? Number.NaN);
  }

  forEach(take: (row: number, answer: UncountedAnswer) => void): void {
    const known = (value: number): number | undefined => (Number.isNaN(value) ? undefined : value);
    for (let at = 0; at < this.#length; at++) {
      take(this.#row.get(at), {
        streaming: this.#streaming.get(at) === 1,
        bytes: known(this.#bytes.get(at)),
        tokensMax: known(this.#tokensMax.get(at)),
      });
    }
  }
}
