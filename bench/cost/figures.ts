import { quantile, sorted } from '../../src/lab/run-summary/statistics.ts';

/** What a round measures of one side; each row has some of them. */
export const FIGURES = {
  cost: { name: 'CPU', unit: '' },
  userCost: { name: 'CPU in user mode', unit: '' },
  systemCost: { name: 'CPU in the kernel', unit: '' },
  p50Ms: { name: 'p50', unit: 'ms' },
  p99Ms: { name: 'p99', unit: 'ms' },
  residentMb: { name: 'memory', unit: 'MB' },
  collections: { name: 'full collections in 10 s', unit: '' },
  sampleAgeMs: { name: 'age of samples p99', unit: 'ms' },
  startMs: { name: 'start', unit: 'ms' },
} as const;

export type FigureName = keyof typeof FIGURES;

export const FIGURE_NAMES: readonly FigureName[] = Object.keys(FIGURES) as FigureName[];

/** The unit of a figure; `costUnit` is that of the row's CPU. */
export function figureUnit(name: FigureName, costUnit: string): string {
  return /cost$/i.test(name) ? costUnit : FIGURES[name].unit;
}

/** Median and extremes of rounds, or of pairs of processes. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export type Figures = Readonly<Partial<Record<FigureName, number>>>;
export type Summaries = Readonly<Partial<Record<FigureName, Summary>>>;

/** Throws if there are no values. */
export function summarize(values: readonly number[]): Summary {
  const ordered = sorted(values);
  const low = ordered[Math.floor((ordered.length - 1) / 2)];
  const high = ordered[Math.ceil((ordered.length - 1) / 2)];
  if (low === undefined || high === undefined) throw new Error('a summary needs a round');
  return { median: (low + high) / 2, min: Math.min(...values), max: Math.max(...values) };
}

/** The figures that every round has. */
export function summarizeAll(rounds: readonly Figures[]): Summaries {
  const summaries: Partial<Record<FigureName, Summary>> = {};
  for (const name of FIGURE_NAMES) {
    const values = rounds.flatMap((round) => round[name] ?? []);
    if (values.length > 0) summaries[name] = summarize(values);
  }
  return summaries;
}

export function p50And99(latencies: readonly number[]): Figures {
  if (latencies.length === 0) return {};
  const ordered = sorted(latencies);
  return { p50Ms: quantile(ordered, 0.5), p99Ms: quantile(ordered, 0.99) };
}
