import type { ConfigReport, Estimate, Figure } from '../simulate/compare.ts';
import { type Drawn, distribution, hitRates, loadMap, pareto } from './charts.ts';
import { escaped, htmlPage } from './page.ts';

export interface ReportInput {
  /** What was simulated: the trace and the pool. */
  readonly title: string;
  readonly reports: readonly ConfigReport[];
  /** Of the first draw of each configuration, in the same order. */
  readonly drawn: readonly Drawn[];
  /** NaN where it is not known. */
  readonly ceilings: { readonly unlimited: number; readonly oneCache: number };
  /** What to know beside the figures, in place of what is said of draws. */
  readonly notes?: readonly string[];
}

interface Column {
  readonly head: string;
  readonly figure: Figure;
  readonly unit: 'ms' | '%' | '';
}

const COLUMNS: readonly Column[] = [
  { head: 'TTFT mean', figure: 'ttftMeanMs', unit: 'ms' },
  { head: 'TTFT p50', figure: 'ttftP50Ms', unit: 'ms' },
  { head: 'TTFT p99', figure: 'ttftP99Ms', unit: 'ms' },
  { head: 'per token', figure: 'tpotMeanMs', unit: 'ms' },
  { head: 'end to end', figure: 'e2eMeanMs', unit: 'ms' },
  { head: 'good', figure: 'goodput', unit: '%' },
  { head: 'found in caches', figure: 'hitRate', unit: '%' },
  { head: 'preempted', figure: 'preemptions', unit: '' },
  { head: 'failed', figure: 'failed', unit: '' },
];

/** One page that needs nothing else: no network, no script. For screens small and large, light and dark, and for paper. */
export function reportPage({ title, reports, drawn, ceilings, notes }: ReportInput): string {
  const most = Math.max(1, ...drawn.flatMap(({ curves }) => curves.load.flat()));
  const seeds = reports[0]?.seeds ?? 0;
  const maps = drawn.map(
    (each) =>
      `<figure><figcaption>${escaped(each.name)}</figcaption>${loadMap(each, most)}</figure>`,
  );
  const legend = drawn
    .map(({ name }, at) => `<li><i style="background: var(--c${at % 8})"></i>${escaped(name)}</li>`)
    .join('');
  return htmlPage(
    title,
    `${(notes ?? [aboutDraws(seeds)]).map((note) => `<p>${escaped(note)}</p>`).join('\n')}
<div class="scroll">${table(reports)}</div>
<ul class="legend">${legend}</ul>
<section>
<figure><figcaption>Time to first token</figcaption>${distribution(drawn, 'ttft', 'time to first token')}</figure>
<figure><figcaption>Time per output token</figcaption>${distribution(drawn, 'tpot', 'time per output token')}</figure>
<figure><figcaption>End to end</figcaption>${distribution(drawn, 'e2e', 'end to end')}</figure>
<figure><figcaption>First tokens against output tokens</figcaption>${pareto(reports)}</figure>
<figure><figcaption>Prompt tokens found in caches</figcaption>${hitRates(drawn, ceilings)}</figure>
</section>
<h2>Work given to each server</h2>
<p>Tokens computed, prompts and answers, over the time of the trace; as dark everywhere.</p>
<section>
${maps.join('\n')}
</section>`,
  );
}

function aboutDraws(seeds: number): string {
  return seeds === 1
    ? 'One draw: differences may be luck; give --seeds to see.'
    : `${seeds} draws, with 95 % intervals. “Against the first” is taken draw by draw, so that what differs is the configuration and not the draw.`;
}

function table(reports: readonly ConfigReport[]): string {
  const heads = COLUMNS.map(
    ({ head, unit }) => `<th>${head}${unit === '' ? '' : `, ${unit}`}</th>`,
  );
  const rows = reports.map((report) => {
    const cells = COLUMNS.map(
      ({ figure, unit }) => `<td>${told(report.figures[figure], unit)}</td>`,
    );
    return `<tr><th scope="row">${escaped(report.name)}</th><td>${against(report, reports[0])}</td>${cells.join('')}</tr>`;
  });
  return `<table><thead><tr><th></th><th>TTFT against the first</th>${heads.join('')}</tr></thead><tbody>${rows.join('\n')}</tbody></table>`;
}

function told({ mean, plusMinus }: Estimate, unit: Column['unit']): string {
  const text = (value: number): string => {
    const scaled = unit === '%' ? 100 * value : value;
    return Math.abs(scaled) < 100 ? scaled.toFixed(1) : Math.round(scaled).toLocaleString('en');
  };
  if (Number.isNaN(mean)) return '–';
  return Number.isNaN(plusMinus) || plusMinus === 0
    ? text(mean)
    : `${text(mean)} <small>±${text(plusMinus)}</small>`;
}

function against({ againstFirst }: ConfigReport, first: ConfigReport | undefined): string {
  if (againstFirst === undefined || first === undefined) return '';
  const base = first.figures.ttftMeanMs.mean;
  const { mean, plusMinus } = againstFirst.ttftMeanMs;
  const sign = mean > 0 ? '+' : '−';
  const interval = Number.isNaN(plusMinus)
    ? ''
    : ` <small>±${((100 * plusMinus) / base).toFixed(1)}</small>`;
  return `${sign}${Math.abs((100 * mean) / base).toFixed(1)}${interval} %`;
}
