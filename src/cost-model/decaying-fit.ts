export interface FitPrior {
  readonly means: readonly number[];
  /** The standard deviation of each mean. */
  readonly deviations: readonly number[];
}

/**
 * Least squares over a few features, in which old observations fade. Where observations have faded
 * or cannot separate two coefficients, the prior decides. Memory is constant.
 */
export class DecayingFit {
  readonly #prior: FitPrior;
  /** Weighted sums of products of features, row by row. */
  readonly #squares: number[][];
  readonly #products: number[];

  constructor(prior: FitPrior) {
    this.#prior = prior;
    this.#squares = prior.means.map(() => prior.means.map(() => 0));
    this.#products = prior.means.map(() => 0);
  }

  /** Adds an observation. Earlier ones keep `1 - fading` of their weight. */
  observe(
    features: readonly number[],
    { value, deviation, fading }: { value: number; deviation: number; fading: number },
  ): void {
    const weight = 1 / (deviation * deviation);
    features.forEach((feature, row) => {
      const sums = this.#squares[row] as number[];
      features.forEach((other, column) => {
        sums[column] = (1 - fading) * (sums[column] as number) + weight * feature * other;
      });
      this.#products[row] =
        (1 - fading) * (this.#products[row] as number) + weight * feature * value;
    });
  }

  /** The most likely coefficients, given the prior, or another in its place. */
  solve({ means, deviations }: FitPrior = this.#prior): readonly number[] {
    const rows = this.#squares.map((sums, row) => {
      const precision = 1 / (deviations[row] as number) ** 2;
      const values = [
        ...sums,
        (this.#products[row] as number) + precision * (means[row] as number),
      ];
      values[row] = (values[row] as number) + precision;
      return values;
    });
    return eliminate(rows);
  }
}

/** Gauss-Jordan elimination. The prior's precision keeps every pivot above zero. */
function eliminate(rows: readonly number[][]): readonly number[] {
  rows.forEach((pivotRow, pivot) => {
    const divisor = pivotRow[pivot] as number;
    rows.forEach((row, index) => {
      if (index === pivot) return;
      const factor = (row[pivot] as number) / divisor;
      for (let column = pivot; column < row.length; column++) {
        row[column] = (row[column] as number) - factor * (pivotRow[column] as number);
      }
    });
  });
  return rows.map((row, index) => (row.at(-1) as number) / (row[index] as number));
}
