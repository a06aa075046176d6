import type { RowResult, SideResult } from './measure-row.ts';

/** A row with a larger share of failed requests measures failures, not cost. */
const FAILED_SHARE_MAX = 0.001;

export type Verdict = 'yes' | 'no' | 'failed requests';

export function verdictOf({ row, ours, other }: RowResult): Verdict {
  const failed = Math.max(ours.failedShare, other?.failedShare ?? 0);
  if (!(failed <= FAILED_SHARE_MAX)) return 'failed requests';
  return ours.cost.median < row.reference ? 'yes' : 'no';
}

/** Our cost divided by the yardstick's, if both were measured. */
export function multipleOf({ ours, other }: RowResult): number | undefined {
  return other && ours.cost.median / other.cost.median;
}

const HEADINGS = [
  'row',
  'config',
  'requests/s',
  'scrapes/s',
  'ours ms (range)',
  'reference ms',
  'yardstick ms',
  'ours ÷ yardstick',
  'better?',
];

/** The results as a table for a terminal, with notes that explain it. */
export function costTable(results: readonly RowResult[], yardstickMissing?: string): string {
  const rows = results.map((result) => cellsOf(result, yardstickMissing !== undefined));
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) =>
        column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  const rule = '─'.repeat(widths.reduce((sum, width) => sum + width + 2, -2));
  return [line(HEADINGS), rule, ...rows.map(line), '', ...notes(yardstickMissing)].join('\n');
}

function cellsOf(result: RowResult, noYardstick: boolean): readonly string[] {
  const { row, ours, other: yardstick } = result;
  const idle = row.load.kind === 'idle';
  const unit = idle ? ' core' : '';
  const multiple = multipleOf(result);
  return [
    row.title,
    row.config,
    idle ? '–' : ours.perSecond.toFixed(0),
    ours.scrapesPerSecond.toFixed(0),
    `${ranged(ours)}${unit}`,
    `${row.reference}${unit}`,
    yardstick === undefined ? (noYardstick && !idle ? 'no Go' : '–') : ranged(yardstick),
    multiple === undefined ? '–' : `${multiple.toFixed(1)} ×`,
    verdictOf(result),
  ];
}

function ranged({ cost }: SideResult): string {
  const digits = cost.median < 1 ? 3 : 2;
  return `${cost.median.toFixed(digits)} (${cost.min.toFixed(digits)}–${cost.max.toFixed(digits)})`;
}

function notes(yardstickMissing: string | undefined): readonly string[] {
  return [
    'ms: CPU of the ext_proc process (user + kernel, all threads, from the operating system) per',
    'request, through a real Envoy in full duplex: median and range of rounds that alternate with the',
    'yardstick’s. Ours includes scraping every endpoint every 50 ms, with small pages except in the',
    'last row. The reference’s figures were measured on a machine with two cores and its default',
    'configuration. The yardstick, a bare Go ext_proc echo that neither decides nor scrapes, shows how',
    'fast this machine is: on the reference’s machine it cost 0.06 ms at 1 KB and 0.12 ms at 32 KB.',
    ...(yardstickMissing === undefined ? [] : [`This run has no yardstick: ${yardstickMissing}.`]),
  ];
}
