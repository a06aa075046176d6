import { escaped } from '../../src/lab/report/page.ts';
import type { Group, Overall } from './gates.ts';
import type { Standing } from './standings.ts';

export interface Report {
  readonly standings: readonly Standing[];
  readonly overall: readonly Overall[];
  /** Draws of chosen scenarios. */
  readonly seeds: number;
}

export interface Column {
  readonly head: string;
  readonly cell: (standing: Standing) => string;
  /** Aligned as text, not as a number. */
  readonly isName?: boolean;
}

/** The columns of the table of standings. */
export const COLUMNS: readonly Column[] = [
  {
    head: 'scenario',
    cell: ({ scenario, figure }) => (figure === 'e2eMeanMs' ? `${scenario}, end to end` : scenario),
  },
  { head: 'ours, ms', cell: ({ ours }) => `${ms(ours.mean)} ±${ms(ours.plusMinus)}` },
  {
    head: 'best tuned baseline',
    cell: ({ bestTuned: { policy, variant } }) =>
      variant === '' ? policy : `${policy} (${variant})`,
    isName: true,
  },
  { head: 'its, ms', cell: ({ bestTuned }) => ms(bestTuned.ms) },
  {
    head: 'ours ÷ it',
    cell: ({ ratio }) => `${ratio.mean.toFixed(3)} ±${ratio.plusMinus.toFixed(3)}`,
  },
  { head: 'best untuned', cell: ({ bestUntuned }) => bestUntuned.policy, isName: true },
  { head: 'its, ms', cell: ({ bestUntuned }) => ms(bestUntuned.ms) },
  {
    head: 'it waiting, fcfs / response ratio',
    cell: ({ rivalWaitingMs }) => Object.values(rivalWaitingMs).map(ms).join(' / ') || '–',
  },
  { head: 'ours at once', cell: ({ atOnce }) => ms(atOnce.ms) },
  {
    head: 'p99 TTFT ours / at once',
    cell: ({ p99Ms, atOnce }) => `${ms(p99Ms)} / ${ms(atOnce.p99Ms)}`,
  },
  {
    head: 'goodput ours / its / at once',
    cell: ({ goodput, bestTuned, atOnce }) =>
      `${[goodput, bestTuned.goodput, atOnce.goodput].map((share) => (100 * share).toFixed(1)).join(' / ')} %`,
  },
  {
    head: 'TPOT ours / at once',
    cell: ({ tpotMs, atOnce }) => [tpotMs, atOnce.tpotMs].map(ms).join(' / '),
  },
];
/** The standings as text. */
export function reportTable({ standings, overall }: Report): string {
  const rows = standings.map((standing) => COLUMNS.map(({ cell }) => cell(standing)));
  const head = COLUMNS.map((column) => column.head);
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const lines = [head, ...rows].map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '),
  );
  const summary = overall.map((each) => `\n${overallSentence(each)}`).join('');
  return `Mean time to first token, except where noted.\n\n${lines.join('\n')}\n${summary}\n`;
}

/** The page has the ratio as a bar, too, before this column. */
const RATIO = 4;

/** The standings as one self-contained HTML page: a bar for each scenario, and the table. */
export function policyReport({ standings, overall, seeds }: Report): string {
  const rows = standings.map(rowOf).join('\n');
  const heads = COLUMNS.flatMap(({ head, isName = false }, column) => {
    const text = `<th${isName ? ' class="name"' : ''}>${head}</th>`;
    return column === RATIO ? ['<th class="name">ours ÷ it, 0.7 to 1.3</th>', text] : [text];
  }).join('');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The default policy against all others</title>
<style>
:root { color-scheme: light dark; --ink: #1b1f24; --faint: #6a7280; --line: #d5d9e0; --bar: #2b6cb0; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --faint: #9aa3af; --line: #3a404a; --bar: #6aa5e8; --paper: #14171b; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
p { max-width: 44rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .35rem .7rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--faint); font-weight: 500; }
td:first-child, th:first-child, td.name, th.name { text-align: left; }
svg { display: block; }
svg .axis { stroke: var(--faint); stroke-dasharray: 2 3; }
svg .interval { stroke: var(--bar); stroke-width: 2; }
svg circle { fill: var(--bar); }
</style>
<h1>The default policy against all others</h1>
<p>Mean time to first token (end to end where it says so) of the default, or in pools that prefill apart of
<code>deploy/disaggregation.yaml</code>, over that of the best baseline <em>tuned for each scenario</em> on other draws; left of
the dashed line is better. ${seeds} draws, 95 % intervals. ${escaped(overall.map(overallSentence).join(' '))}</p>
<div class="scroll"><table>
<thead><tr>${heads}</tr></thead>
<tbody>
${rows}
</tbody></table></div>
</html>
`;
}

/** The geometric means of one group of scenarios in words. */
export function overallSentence(all: Overall): string {
  const { group, scenarios, bestSingle, toBestSingle, toBestTuned } = all;
  const ratios = `${toBestSingle.toFixed(3)} of ${bestSingle}, the best single baseline untuned, and ${toBestTuned.toFixed(3)} of the best tuned`;
  return `Geometric mean over ${scenarios} ${GROUPS[group]}: ${ratios}.`;
}

const GROUPS: Readonly<Record<Group, string>> = {
  usual: 'scenarios, chosen or drawn',
  chosen: 'chosen scenarios',
  drawn: 'drawn scenarios',
  disaggregated: 'pools with prefill servers',
  'other-engine': 'pools of other engines',
};

function rowOf(standing: Standing): string {
  const cells = COLUMNS.flatMap(({ cell, isName = false }, column) => {
    const text = `<td${isName ? ' class="name"' : ''}>${escaped(cell(standing))}</td>`;
    const { mean, plusMinus } = standing.ratio;
    return column === RATIO ? [`<td class="name">${bar(mean, plusMinus)}</td>`, text] : [text];
  });
  return `<tr>${cells.join('')}</tr>`;
}

/** The ratio as a point with its interval, from 0.7 to 1.3; values beyond are at the edge. */
function bar(mean: number, plusMinus: number): string {
  const x = (value: number): string =>
    (10 + ((Math.min(1.3, Math.max(0.7, value)) - 0.7) / 0.6) * 200).toFixed(1);
  return `<svg width="220" height="20" role="img" aria-label="${mean.toFixed(3)}"><line class="axis" x1="${x(1)}" x2="${x(1)}" y1="0" y2="20"/><line class="interval" x1="${x(mean - plusMinus)}" x2="${x(mean + plusMinus)}" y1="10" y2="10"/><circle cx="${x(mean)}" cy="10" r="4"/></svg>`;
}

function ms(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0);
}
