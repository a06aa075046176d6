import { mean } from '../../src/lab/run-summary/statistics.ts';
import type { SimulationSummary } from '../../src/lab/run-summary/summarize.ts';
import type { Entry } from '../policies/standings.ts';

/** What the default policy gives in one situation, and the best other policy there. */
export interface Outcome {
  readonly situation: string;
  readonly ours: Figures;
  /** The policy with the least mean times to first tokens. */
  readonly best: Figures & { readonly policy: string };
  /** Our times over its, geometric means over the cases. */
  readonly ratios: { readonly mean: number; readonly p99: number; readonly perToken: number };
}

interface Figures {
  readonly ttftMeanMs: number;
  readonly ttftP99Ms: number;
  readonly tpotMeanMs: number;
  readonly goodput: number;
  /** Requests that failed, in all cases. */
  readonly failed: number;
}

/** The first entry is ours. */
export function outcomeOf(situation: string, [ours, ...rivals]: readonly Entry[]): Outcome {
  if (ours === undefined) throw new Error(`no entry for ${situation}`);
  const by = (rival: Entry, figure: keyof SimulationSummary): number => ratio(ours, rival, figure);
  const [first, ...others] = rivals;
  if (first === undefined) throw new Error(`no other policy for ${situation}`);
  const best = others.reduce((a, b) => (by(b, 'ttftMeanMs') > by(a, 'ttftMeanMs') ? b : a), first);
  return {
    situation,
    ours: figuresOf(ours),
    best: { ...figuresOf(best), policy: best.policy },
    ratios: {
      mean: by(best, 'ttftMeanMs'),
      p99: by(best, 'ttftP99Ms'),
      perToken: by(best, 'tpotMeanMs'),
    },
  };
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(mean(values.map(Math.log)));
}

function ratio(ours: Entry, rival: Entry, figure: keyof SimulationSummary): number {
  const ratios = ours.summaries.map(
    (summary, index) => summary[figure] / (rival.summaries[index]?.[figure] ?? Number.NaN),
  );
  return geometricMean(ratios);
}

function figuresOf({ summaries }: Entry): Figures {
  const meanOf = (figure: keyof SimulationSummary): number =>
    mean(summaries.map((summary) => summary[figure]));
  return {
    ttftMeanMs: meanOf('ttftMeanMs'),
    ttftP99Ms: meanOf('ttftP99Ms'),
    tpotMeanMs: meanOf('tpotMeanMs'),
    goodput: meanOf('goodput'),
    failed: summaries.length * meanOf('failed'),
  };
}

/** The outcomes as text, where the default is worst first. */
export function outcomeTable(outcomes: readonly Outcome[]): string {
  const worstFirst = outcomes.toSorted((a, b) => b.ratios.mean - a.ratios.mean);
  const rows = [HEAD, ...worstFirst.map(rowOf)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const means = outcomes.map(({ ratios }) => ratios.mean);
  const later = means.filter((each) => each > 1.05).length;
  const all = `Geometric mean over ${outcomes.length} situations: ${geometricMean(means).toFixed(3)} of the best other policy of each, untuned; more than 5 % above it in ${later}.`;
  return `Times in ms; ratios are of the default to the best other policy.\n\n${lines.join('\n')}\n\n${all}\n`;
}

const HEAD = [
  'situation',
  'mean TTFT',
  'best other',
  'its',
  'ratio',
  'p99',
  'its',
  'ratio',
  'goodput, %',
  'its',
  'per token',
  'its',
  'failed, its',
];

function rowOf({ situation, ours, best, ratios }: Outcome): readonly string[] {
  return [
    situation,
    ms(ours.ttftMeanMs),
    best.policy,
    ms(best.ttftMeanMs),
    ratios.mean.toFixed(3),
    ms(ours.ttftP99Ms),
    ms(best.ttftP99Ms),
    ratios.p99.toFixed(3),
    (100 * ours.goodput).toFixed(1),
    (100 * best.goodput).toFixed(1),
    ours.tpotMeanMs.toFixed(1),
    best.tpotMeanMs.toFixed(1),
    ours.failed + best.failed === 0 ? '' : `${ours.failed}, ${best.failed}`,
  ];
}

function ms(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0);
}
