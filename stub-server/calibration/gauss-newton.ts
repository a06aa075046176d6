/** A quantity to fit, in logarithms: it is positive, and known to a factor. */
export interface LogPrior {
  readonly name: string;
  readonly mean: number;
  /** Standard deviation of the logarithm: 0.1 is ten per cent. */
  readonly spread: number;
}

export interface FitOptions {
  readonly priors: readonly LogPrior[];
  /** Weighted residuals of the observations at these values: each about 1 when the model is as good as it should be. */
  readonly residuals: (values: readonly number[]) => readonly number[];
  readonly onIteration?: (iteration: number, loss: number) => void;
}

const ITERATIONS_MAX = 12;
/** Relative step of the finite differences: above the noise of a simulation, below its curvature. */
const STEP = 0.02;
/** Nothing more to gain. */
const IMPROVEMENT_MIN = 0.002;
/** Residuals beyond so many deviations pull less and less (Huber). */
const HUBER = 3;

/** The likeliest values given observations and priors: Gauss and Newton, halving steps that make it worse. */
export function fitLog({ priors, residuals, onIteration }: FitOptions): readonly number[] {
  const observed = (logs: readonly number[]): readonly number[] =>
    residuals(logs.map(Math.exp)).map(tamed);
  let logs = priors.map(({ mean }) => Math.log(mean));
  let current = observed(logs);
  let loss = lossOf(current, logs, priors);
  for (let iteration = 1; iteration <= ITERATIONS_MAX; iteration++) {
    const direction = newtonStep({ logs, current, priors, observed });
    let next = logs;
    let nextResiduals = current;
    let nextLoss = Number.POSITIVE_INFINITY;
    for (let scale = 1; scale > 0.05 && nextLoss > loss; scale /= 2) {
      next = logs.map((value, index) => value + scale * (direction[index] as number));
      nextResiduals = observed(next);
      nextLoss = lossOf(nextResiduals, next, priors);
    }
    const gained = (loss - nextLoss) / loss;
    onIteration?.(iteration, Math.min(loss, nextLoss));
    if (nextLoss < loss) {
      logs = next;
      current = nextResiduals;
      loss = nextLoss;
    }
    if (gained < IMPROVEMENT_MIN) break;
  }
  return logs.map(Math.exp);
}

function tamed(residual: number): number {
  const size = Math.abs(residual);
  if (!Number.isFinite(size)) return 50;
  return size <= HUBER ? residual : Math.sign(residual) * Math.sqrt(HUBER * (2 * size - HUBER));
}

function lossOf(
  residuals: readonly number[],
  logs: readonly number[],
  priors: readonly LogPrior[],
): number {
  const misfit = residuals.reduce((sum, residual) => sum + residual * residual, 0);
  return logs.reduce((sum, value, index) => sum + priorResidual(value, priors[index]) ** 2, misfit);
}

function priorResidual(log: number, prior: LogPrior | undefined): number {
  return prior === undefined ? 0 : (log - Math.log(prior.mean)) / prior.spread;
}

function newtonStep({
  logs,
  current,
  priors,
  observed,
}: {
  readonly logs: readonly number[];
  readonly current: readonly number[];
  readonly priors: readonly LogPrior[];
  readonly observed: (logs: readonly number[]) => readonly number[];
}): readonly number[] {
  const columns = logs.map((_, index) => {
    const moved = observed(logs.map((value, at) => (at === index ? value + STEP : value)));
    return moved.map((residual, row) => (residual - (current[row] as number)) / STEP);
  });
  const matrix = columns.map((column, row) => {
    const products = columns.map((other) => dot(column, other));
    const { spread } = priors[row] as LogPrior;
    products[row] = (products[row] as number) + 1 / (spread * spread);
    const pull = dot(column, current) + priorResidual(logs[row] as number, priors[row]) / spread;
    return [...products, -pull];
  });
  return solve(matrix);
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] as number), 0);
}

/** Gauss and Jordan, on rows of which the last column is the right-hand side. */
function solve(rows: number[][]): readonly number[] {
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
