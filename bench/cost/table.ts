import type { FigureName, Summary } from './figures.ts';
import type { RowResult, SideResult } from './measure-row.ts';
import { unitOf } from './row.ts';
import { askedOf, verdictOf } from './verdict.ts';

const HEADINGS = [
  'row',
  'requests/s',
  'scrapes/s',
  'ours (range)',
  'Go echo (range)',
  'ours ÷ echo',
  'reference',
  'p50 / p99 ms',
  'echo’s',
  '÷ echo',
  'MB',
];
/** Only the first column is text. */
const TEXT_COLUMNS = 1;

/** A figure of ours divided by the yardstick's, if both were measured and it is not 0. */
export function multipleOf({ ours, other }: RowResult, name: FigureName): number | undefined {
  const [mine, theirs] = [ours.figures[name], other?.figures[name]];
  return mine && theirs && theirs.median > 0 ? mine.median / theirs.median : undefined;
}

/** The results as tables for a terminal, with notes that explain them. */
export function costTable(results: readonly RowResult[], yardstickMissing?: string): string {
  const measured = table(HEADINGS, TEXT_COLUMNS, results.map(cellsOf));
  const judged = table(
    ['row', 'asked', 'holds?'],
    3,
    results
      .map((result) => [result.row.title, askedOf(result.row), verdictOf(result, results).text])
      .filter(([, asked]) => asked !== ''),
  );
  return [...measured, '', ...judged, '', ...notes(yardstickMissing)].join('\n');
}

/** Aligned columns, the first ones of which are text. */
export function table(
  headings: readonly string[],
  textColumns: number,
  rows: readonly (readonly string[])[],
): readonly string[] {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  const padded = (cell: string, column: number): string =>
    column < textColumns ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  const line = (cells: readonly string[]): string => cells.map(padded).join('  ').trimEnd();
  const rule = '─'.repeat(widths.reduce((sum, width) => sum + width + 2, -2));
  return [line(headings), rule, ...rows.map(line)];
}

function cellsOf(result: RowResult): readonly string[] {
  const { row, ours, other } = result;
  const hasRequests = 'bodyBytes' in row.load;
  const unit = ` ${unitOf(row)}`;
  return [
    row.title,
    hasRequests && row.load.kind !== 'streams' ? ours.perSecond.toFixed(0) : '–',
    row.load.kind === 'start' ? '–' : ours.scrapesPerSecond.toFixed(0),
    ranged(ours.figures.cost) + unit,
    ranged(other?.figures.cost),
    times(multipleOf(result, 'cost')),
    row.reference === undefined ? '–' : `${row.reference}${unit}`,
    latency(ours),
    other === undefined ? '–' : latency(other),
    times(multipleOf(result, row.load.kind === 'start' ? 'startMs' : 'p99Ms')),
    ours.figures.residentMb?.median.toFixed(0) ?? '–',
  ];
}

function latency({ figures: { p50Ms, p99Ms, startMs } }: SideResult): string {
  if (startMs !== undefined) return ranged(startMs);
  return p50Ms && p99Ms ? `${p50Ms.median.toFixed(1)} / ${ranged(p99Ms)}` : '–';
}

function times(multiple: number | undefined): string {
  return multiple === undefined ? '–' : `${multiple.toFixed(2)} ×`;
}

function ranged(summary: Summary | undefined): string {
  if (summary === undefined) return '–';
  const { median, min, max } = summary;
  const digits = median < 1 ? 3 : median < 10 ? 2 : 0;
  return `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
}

function notes(yardstickMissing: string | undefined): readonly string[] {
  return [
    'ours, Go echo: CPU of the ext_proc process (user + kernel, all threads, from the operating system)',
    'in ms per request, or in cores where there are no requests, through a real Envoy in full duplex',
    'unless the row says otherwise: median and range of rounds that alternate with the echo’s. Ours',
    'includes scraping every endpoint. The Go echo is a bare ext_proc server that neither decides nor',
    'scrapes. p99 is of requests at a constant rate, from when each was due; in the last row the columns',
    'have the time until the process serves. The reference’s figures were measured on a machine with',
    'two cores and its default configuration, on which the echo cost 0.06 ms at 1 KB, 0.12 at 32 KB.',
    ...(yardstickMissing === undefined ? [] : [`This run has no echo: ${yardstickMissing}.`]),
  ];
}
