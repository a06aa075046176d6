import { grouped } from '../../framework/values/grouped.ts';
import { tableWithin } from '../../framework/values/text-table.ts';
import { type ConfigReport, DRAWS_MIN, type Figure, type RowKind } from './compare.ts';
import type { ServiceObjective } from './service-objective.ts';

const milliseconds = (value: number): string =>
  Math.abs(value) < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en');
/** A mean of counts has a fraction only where draws differ. */
const counted = (value: number): string =>
  Number.isInteger(value) ? grouped(value) : milliseconds(value);
const share = (value: number): string => `${(100 * value).toFixed(1)} %`;

const COLUMNS: readonly { head: string; figure: Figure; format: (value: number) => string }[] = [
  { head: 'TTFT ms', figure: 'ttftMeanMs', format: milliseconds },
  { head: 'p50', figure: 'ttftP50Ms', format: milliseconds },
  { head: 'p99', figure: 'ttftP99Ms', format: milliseconds },
  { head: 'TPOT ms', figure: 'tpotMeanMs', format: milliseconds },
  { head: 'E2E ms', figure: 'e2eMeanMs', format: milliseconds },
  { head: 'good', figure: 'goodput', format: share },
  { head: 'hits', figure: 'hitRate', format: share },
  { head: 'preempted', figure: 'preemptions', format: counted },
  { head: 'failed', figure: 'failed', format: counted },
];

/**
 * `comparisonRows` as text that is at most `columns` wide where names allow, with a line where
 * there are too few draws for intervals.
 */
export function renderComparison(
  reports: readonly ConfigReport[],
  columns = 80,
  rowKind: RowKind = 'configuration',
): string {
  const draws = reports[0]?.seeds ?? 0;
  // The difference is that of the first figure, and stands beside it.
  const isAlone = reports.length === 1;
  const rows = comparisonRows(reports).map(([name = '', first = '', ...others], at) => [
    at === 0 && rowKind === 'target' ? rowKind : name,
    first,
    ...(isAlone ? [] : others.slice(-1)),
    ...others.slice(0, -1),
  ]);
  const table = tableWithin(rows, columns);
  if (draws < 2 || draws >= DRAWS_MIN) return table;
  return `${table}means of ${draws} draws, too few for an interval: use at least ${DRAWS_MIN} (--seeds ${DRAWS_MIN})\n`;
}

/** What the columns mean and when an answer is good, in lines that fit into 80 characters. */
export function comparisonLegend({ ttftMs, tpotMs }: ServiceObjective): string {
  return [
    'TTFT, TPOT, E2E: to the first token, for each further one, to the end; means\n',
    `good: TTFT under ${grouped(ttftMs)} ms and TPOT under ${grouped(tpotMs)} ms; hits: prompt found in caches\n`,
  ].join('');
}

/**
 * The cells of a table with a head and one row for each configuration, with intervals from
 * `DRAWS_MIN` seeds on, and the mean TTFT compared with that of the first row.
 */
export function comparisonRows(reports: readonly ConfigReport[]): readonly (readonly string[])[] {
  return [
    ['config', ...COLUMNS.map(({ head }) => head), 'against first'],
    ...reports.map((report) => [
      report.name,
      ...COLUMNS.map(({ figure, format }) => cell(report, figure, format)),
      difference(report, reports[0]),
    ]),
  ];
}

function cell(report: ConfigReport, figure: Figure, format: (value: number) => string): string {
  const { mean, plusMinus } = report.figures[figure];
  // Some figures of a live target are unknown.
  if (Number.isNaN(mean)) return '–';
  return report.seeds < DRAWS_MIN || plusMinus === 0
    ? format(mean)
    : `${format(mean)} ±${format(plusMinus)}`;
}

/** The difference of the mean TTFT in percent of the first row's, with its paired interval. */
function difference(
  { againstFirst, seeds }: ConfigReport,
  first: ConfigReport | undefined,
): string {
  if (againstFirst === undefined || first === undefined) return '';
  const base = first.figures.ttftMeanMs.mean;
  const { mean, plusMinus } = againstFirst.ttftMeanMs;
  // One of the two has answered no request.
  if (Number.isNaN(mean)) return '–';
  const interval = seeds < DRAWS_MIN ? '' : ` ±${((100 * plusMinus) / base).toFixed(1)}`;
  const percent = ((100 * mean) / base).toFixed(1);
  const sign = Number(percent) > 0 ? '+' : '';
  return `${sign}${percent === '-0.0' ? '0.0' : percent}${interval} %`;
}
