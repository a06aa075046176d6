import { alignedTable } from './aligned-table.ts';
import type { ConfigReport, Estimate, Figure } from './compare.ts';

interface Column {
  readonly head: string;
  readonly figure: Figure;
  readonly format: (value: number) => string;
}

const milliseconds = (value: number): string =>
  Math.abs(value) < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en');
const share = (value: number): string => `${(100 * value).toFixed(1)} %`;

const COLUMNS: readonly Column[] = [
  { head: 'TTFT mean ms', figure: 'ttftMeanMs', format: milliseconds },
  { head: 'p50', figure: 'ttftP50Ms', format: milliseconds },
  { head: 'p99', figure: 'ttftP99Ms', format: milliseconds },
  { head: 'TPOT ms', figure: 'tpotMeanMs', format: milliseconds },
  { head: 'E2E ms', figure: 'e2eMeanMs', format: milliseconds },
  { head: 'good', figure: 'goodput', format: share },
  { head: 'hits', figure: 'hitRate', format: share },
  { head: 'preempted', figure: 'preemptions', format: milliseconds },
  { head: 'failed', figure: 'failed', format: milliseconds },
];

/** One row a configuration, intervals where there are several seeds, and the first figure against the first row's. */
export function renderComparison(reports: readonly ConfigReport[]): string {
  const rows = [
    ['config', ...COLUMNS.map(({ head }) => head), 'against first'],
    ...reports.map((report) => [
      report.name,
      ...COLUMNS.map(({ figure, format }) => cell(report.figures[figure], format)),
      difference(report, reports[0]),
    ]),
  ];
  return alignedTable(rows, 1);
}

function cell({ mean, plusMinus }: Estimate, format: (value: number) => string): string {
  // Not known: of a live target some figures are not.
  if (Number.isNaN(mean)) return '–';
  return Number.isNaN(plusMinus) || plusMinus === 0
    ? format(mean)
    : `${format(mean)} ±${format(plusMinus)}`;
}

/** The difference of mean TTFT as a share of the first's, with its paired interval. */
function difference({ againstFirst }: ConfigReport, first: ConfigReport | undefined): string {
  if (againstFirst === undefined || first === undefined) return '';
  const base = first.figures.ttftMeanMs.mean;
  const { mean, plusMinus } = againstFirst.ttftMeanMs;
  const sign = mean > 0 ? '+' : '';
  const interval = Number.isNaN(plusMinus) ? '' : ` ±${((100 * plusMinus) / base).toFixed(1)}`;
  return `${sign}${((100 * mean) / base).toFixed(1)}${interval} %`;
}
