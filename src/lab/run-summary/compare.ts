import { mean as meanOf, sum } from './statistics.ts';
import type { SimulationSummary } from './summarize.ts';

/** One run of a configuration, simulated or live. */
export interface Run {
  readonly job: { readonly name: string; readonly seed: number };
  readonly summary: SimulationSummary;
}

/** What the rows of a comparison are: simulated configurations or live targets. */
export type RowKind = 'configuration' | 'target';

/** A 95 % interval of fewer draws depends on too few values. */
export const DRAWS_MIN = 5;

/** A mean over seeds with its 95 % confidence interval. */
export interface Estimate {
  readonly mean: number;
  /** Half the width of the interval; NaN for a single seed. */
  readonly plusMinus: number;
}

export type Figure = keyof SimulationSummary;

export interface ConfigReport {
  readonly name: string;
  readonly seeds: number;
  readonly figures: Readonly<Record<Figure, Estimate>>;
  /**
   * This configuration's figure minus that of the first, paired by seed, so that the draws of the
   * workload cancel out. Undefined for the first.
   */
  readonly againstFirst: Readonly<Record<Figure, Estimate>> | undefined;
}

/**
 * Groups results by configuration, in the order of first appearance. All configurations must have
 * the same seeds.
 */
export function compare(results: readonly Run[]): readonly ConfigReport[] {
  const byName = Map.groupBy(results, ({ job }) => job.name);
  const [first] = byName.values();
  return [...byName].map(([name, runs]) => ({
    name,
    seeds: runs.length,
    figures: figures(runs, ({ summary }, figure) => summary[figure]),
    againstFirst:
      runs === first || first === undefined
        ? undefined
        : figures(runs, ({ summary, job }, figure) => {
            const base = first.find((other) => other.job.seed === job.seed);
            return summary[figure] - (base?.summary[figure] ?? Number.NaN);
          }),
  }));
}

function figures(
  runs: readonly Run[],
  value: (run: Run, figure: Figure) => number,
): Readonly<Record<Figure, Estimate>> {
  const names = Object.keys(runs[0]?.summary ?? {}) as Figure[];
  const entries = names.map((figure) => [figure, estimate(runs.map((run) => value(run, figure)))]);
  return Object.fromEntries(entries) as Record<Figure, Estimate>;
}

/**
 * Student's t at 97.5 % for 1, 2, … degrees of freedom. Beyond the table, the normal
 * distribution's 1.96 is within 3 %.
 */
const STUDENT = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145,
  2.131, 2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048,
  2.045,
];

/** The mean with its 95 % interval by Student’s t; NaN for the interval of a single value. */
export function estimate(values: readonly number[]): Estimate {
  const count = values.length;
  const mean = meanOf(values);
  if (count < 2) return { mean, plusMinus: Number.NaN };
  const variance = sum(values.map((value) => (value - mean) ** 2)) / (count - 1);
  return { mean, plusMinus: (STUDENT[count - 2] ?? 1.96) * Math.sqrt(variance / count) };
}
