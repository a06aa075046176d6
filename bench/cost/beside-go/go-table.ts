import { table } from '../table.ts';
import type { Interval } from './compare.ts';
import { type GoResult, goVerdict, keepsUp, type PickerResult } from './result.ts';
import type { GoRow } from './rows.ts';

const HEADINGS = [
  'row',
  'picker',
  'requests/s',
  'pages/s',
  'CPU ms',
  'user',
  'kernel',
  '÷ Go (interval)',
  'adds p50 / p99 ms',
  'MB',
];
/** Row and picker are text. */
const TEXT_COLUMNS = 2;

/** The results as tables for a terminal, with notes that explain them. */
export function goTable(results: readonly GoResult[], version: string): string {
  const rows = results.flatMap(({ row, pickers }) =>
    pickers.map((picker, at) => [at === 0 ? row.title : '', ...cellsOf(row, picker)]),
  );
  const judged = results
    .filter(({ row, pickers }) => row.overGoMax !== undefined || !goVerdict({ row, pickers }).holds)
    .map((result) => [result.row.title, askedOf(result.row), goVerdict(result).text]);
  return [
    ...table(HEADINGS, TEXT_COLUMNS, rows),
    '',
    ...(judged.length === 0 ? [] : [...table(['row', 'asked', 'holds?'], 3, judged), '']),
    ...notes(version),
  ].join('\n');
}

function askedOf({ overGoMax }: GoRow): string {
  return overGoMax === undefined ? '–' : `CPU ≤ ${overGoMax} × Go`;
}

function cellsOf(row: GoRow, picker: PickerResult): readonly string[] {
  const { cpuMs, residentMb, overGo, addedMs } = picker;
  return [
    picker.name === 'go' ? 'Go picker' : picker.name,
    `${picker.perSecond.toFixed(0)}${keepsUp(row, picker) ? '' : '*'}`,
    picker.scrapesPerSecond.toFixed(0),
    number(cpuMs.cost),
    number(cpuMs.userCost),
    number(cpuMs.systemCost),
    interval(overGo.cost),
    addedMs.p50Ms === undefined && addedMs.p99Ms === undefined
      ? '–'
      : `${number(addedMs.p50Ms)} / ${number(addedMs.p99Ms)}`,
    residentMb.toFixed(0),
  ];
}

function number(value: number | undefined): string {
  return value === undefined ? '–' : value.toFixed(Math.abs(value) < 10 ? 2 : 0);
}

function interval(ratio: Interval | undefined): string {
  if (ratio === undefined) return '–';
  const { median, low, high } = ratio;
  return `${median.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`;
}

function notes(version: string): readonly string[] {
  return [
    `Go picker: the endpoint picker of ${version}, with its built-in configuration;`,
    'reference-default: ours with the same scorers and weights; default: ours as it comes.',
    'CPU is that of the picker’s process for a request, with reading the pages (22 KB) of all endpoints.',
    '÷ Go: the median of turns next to each other, and its 95 % interval, widened to the medians of the',
    'pairs of processes. adds: p50 and p99 without those of an Envoy that has no picker, median of turns.',
    '* did not keep up with the rate: the requests that came while 32 were under way were not sent, and',
    'are in no figure. There is no ratio where a side had less than ten answers in each turn.',
  ];
}
