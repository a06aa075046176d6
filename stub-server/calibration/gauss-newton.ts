/** Prior of a positive quantity. The fit works on logarithms: errors are relative. */
export interface LogPrior {
  readonly name: string;
  readonly mean: number;
  /** Standard deviation of the logarithm: 0.1 is ten per cent. */
  readonly spread: number;
}

interface FitOptions {
  readonly priors: readonly LogPrior[];
  /** Weighted residuals of the observations at these values: about 1 each for a good model. */
  readonly residuals: (values: readonly number[]) => readonly number[];
  readonly onIteration?: (iteration: number, loss: number) => void;
}

const ITERATIONS_MAX = 12;
/** Relative step of the finite differences, above the noise of a simulation. */
const STEP = 0.02;
/** The fit ends when an iteration reduces the loss by a smaller share. */
const IMPROVEMENT_MIN = 0.002;
/** Residuals above so many deviations count less (Huber loss). */
const HUBER = 3;
/** Stands for a residual that is not finite. */
const RESIDUAL_MAX = 50;

/** Finds the likeliest values (Gauss-Newton). A step that makes the loss worse is halved. */
export function fitLog({ priors, residuals, onIteration }: FitOptions): readonly number[] {
  const observed = (logs: readonly number[]): readonly number[] =>
    residuals(logs.map(Math.exp)).map(huber);
  let logs = priors.map(({ mean }) => Math.log(mean));
  let current = observed(logs);
  let loss = lossOf(current, logs, priors);
  for (let iteration = 1; iteration <= ITERATIONS_MAX; iteration++) {
    const direction = newtonStep(logs, current, priors, observed);
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

function huber(residual: number): number {
  const size = Math.abs(residual);
  if (!Number.isFinite(size)) return RESIDUAL_MAX;
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

function newtonStep(
  logs: readonly number[],
  current: readonly number[],
  priors: readonly LogPrior[],
  observed: (logs: readonly number[]) => readonly number[],
): readonly number[] {
  const columns = logs.map((_, index) => {
    const moved = observed(logs.map((value, at) => (at === index ? value + STEP : value)));
    return moved.map((residual, row) => (residual - (current[row] as number)) / STEP);
  });
  const matrix = columns.map((column, row) => {
    const products = columns.map((other) => dot(column, other));
    const { spread } = priors[row] as LogPrior;
    products[row] = (products[row] as number) + 1 / (spread * spread);
    const gradient =
      dot(column, current) + priorResidual(logs[row] as number, priors[row]) / spread;
    return [...products, -gradient];
  });
  return solve(matrix);
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] as number), 0);
}

/** Gauss-Jordan elimination. The last column of `rows` is the right-hand side. */
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
