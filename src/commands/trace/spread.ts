import { mean, quantile, sum } from '../../lab/run-summary/statistics.ts';

/** How values are spread. */
export interface Spread {
  readonly count: number;
  readonly mean: number;
  readonly min: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Values of which the spread is asked for, at most so many: 8 bytes for each, from the first on. */
export class SpreadValues {
  readonly #most: number;
  #values: Float64Array | undefined;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(value: number | undefined): void {
    if (value === undefined) return;
    this.#values ??= new Float64Array(this.#most);
    this.#values[this.#count] = value;
    this.#count += 1;
  }

  /** Undefined where there is no value. */
  spread(): Spread | undefined {
    if (this.#values === undefined) return undefined;
    const count = this.#count;
    const inOrder = this.#values.subarray(0, count).sort();
    const at = (share: number): number => quantile(inOrder, share);
    const [min, max] = [at(0), at(1)];
    const shares = { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
    return { count, mean: mean(inOrder), min, ...shares, max };
  }
}

/** Values of which few are different, such as numbers of tokens: only these take memory. */
export class SpreadCounts {
  readonly #counts = new Map<number, number>();

  add(value: number): void {
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + 1);
  }

  /** Undefined where there is no value. */
  spread(): Spread | undefined {
    const counts = [...this.#counts].sort(([a], [b]) => a - b);
    const count = sum(counts.map(([, each]) => each));
    if (count === 0) return undefined;
    const total = sum(counts.map(([value, each]) => value * each));
    const at = (share: number): number => {
      // It is what `quantile` gives for all the values.
      let before = Math.min(count - 1, Math.floor(share * count));
      return counts.find(([, each]) => (before -= each) < 0)?.[0] ?? Number.NaN;
    };
    const [min, max] = [at(0), at(1)];
    return { count, mean: total / count, min, p50: at(0.5), p90: at(0.9), p99: at(0.99), max };
  }
}
