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
  readonly #size: number;
  /** Weighted sums of products of features, row by row. */
  readonly #squares: Float64Array;
  readonly #products: Float64Array;
  /**
   * The equations while they are solved: it happens on the path of requests, and makes no arrays.
   */
  readonly #rows: Float64Array;

  constructor(prior: FitPrior) {
    const size = prior.means.length;
    this.#prior = prior;
    this.#size = size;
    this.#squares = new Float64Array(size * size);
    this.#products = new Float64Array(size);
    this.#rows = new Float64Array(size * (size + 1));
  }

  /** Adds an observation. Earlier ones keep `1 - fading` of their weight. */
  observe(
    features: readonly number[],
    { value, deviation, fading }: { value: number; deviation: number; fading: number },
  ): void {
    const size = this.#size;
    const squares = this.#squares;
    const products = this.#products;
    const weight = 1 / (deviation * deviation);
    for (let row = 0; row < size; row++) {
      const weighted = weight * (features[row] as number);
      for (let column = 0; column < size; column++) {
        const at = row * size + column;
        squares[at] =
          (1 - fading) * (squares[at] as number) + weighted * (features[column] as number);
      }
      products[row] = (1 - fading) * (products[row] as number) + weighted * value;
    }
  }

  /** The most likely coefficients, given the prior, or another in its place. */
  solve(prior: FitPrior = this.#prior): readonly number[] {
    return this.#solve(prior, []);
  }

  /**
   * The most likely coefficients of which none is less than its bound. One that would be is held at
   * its bound, and the others are fitted to that.
   */
  solveAbove(bounds: readonly number[]): readonly number[] {
    const held: (number | undefined)[] = [];
    for (;;) {
      const found = this.#solve(this.#prior, held);
      let worst = -1;
      let missedBy = 0;
      for (const [index, value] of found.entries()) {
        const missing = (bounds[index] as number) - value;
        if (held[index] !== undefined || !(missing > missedBy)) continue;
        [worst, missedBy] = [index, missing];
      }
      if (worst < 0) return found;
      held[worst] = bounds[worst] as number;
    }
  }

  #solve(
    { means, deviations }: FitPrior,
    held: readonly (number | undefined)[],
  ): readonly number[] {
    const size = this.#size;
    const rows = this.#rows;
    const width = size + 1;
    for (let row = 0; row < size; row++) {
      const precision = 1 / (deviations[row] as number) ** 2;
      const start = row * width;
      for (let column = 0; column < size; column++) {
        rows[start + column] = this.#squares[row * size + column] as number;
      }
      rows[start + row] = (rows[start + row] as number) + precision;
      rows[start + size] = (this.#products[row] as number) + precision * (means[row] as number);
      const value = held[row];
      if (value !== undefined) {
        rows.fill(0, start, start + size);
        rows[start + row] = 1;
        rows[start + size] = value;
      }
    }
    eliminate(rows, size);
    return means.map(
      (_, row) => (rows[row * width + size] as number) / (rows[row * width + row] as number),
    );
  }
}

/**
 * Gauss-Jordan elimination of so many equations, each a row with its right side last. The prior's
 * precision keeps every pivot above zero.
 */
function eliminate(rows: Float64Array, size: number): void {
  const width = size + 1;
  for (let pivot = 0; pivot < size; pivot++) {
    const pivotAt = pivot * width;
    const divisor = rows[pivotAt + pivot] as number;
    for (let row = 0; row < size; row++) {
      if (row === pivot) continue;
      const at = row * width;
      const factor = (rows[at + pivot] as number) / divisor;
      for (let column = pivot; column < width; column++) {
        rows[at + column] =
          (rows[at + column] as number) - factor * (rows[pivotAt + column] as number);
      }
    }
  }
}
