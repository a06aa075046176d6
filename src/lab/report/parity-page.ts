import type { Parity } from '../shadow/parity.ts';
import { type ParityFigures, parityFigures } from '../shadow/parity-figures.ts';
import type { ShadowStatus } from '../shadow/start-shadow.ts';
import { escaped, htmlPage } from './page.ts';
import { calibrationChart, type DrawnShadow, placesChart } from './parity-charts.ts';

interface Column {
  readonly head: string;
  readonly figure: keyof ParityFigures;
  readonly unit: 'ms' | '%' | '× predicted';
}

const COLUMNS: readonly Column[] = [
  { head: 'same endpoint', figure: 'agreement', unit: '%' },
  { head: 'in its best 3', figure: 'topThree', unit: '%' },
  { head: 'its picks later', figure: 'ttftDifferenceMs', unit: 'ms' },
  { head: 'regret, done', figure: 'primaryRegretMs', unit: 'ms' },
  { head: 'regret, its picks', figure: 'shadowRegretMs', unit: 'ms' },
  { head: 'observed', figure: 'observedOverPredicted', unit: '× predicted' },
  { head: 'off by', figure: 'predictionErrorMs', unit: 'ms' },
];

/** How shadows compare with the primary: over all, and by model, objective and prompt length. */
export function parityPage(title: string, shadows: readonly ShadowStatus[]): string {
  const drawn = shadows.flatMap(({ name, parity }): readonly DrawnShadow[] =>
    parity === undefined ? [] : [{ name, ...parity }],
  );
  const legend = drawn
    .map(({ name }, at) => `<li><i style="background: var(--c${at % 8})"></i>${escaped(name)}</li>`)
    .join('');
  const kinds = shadows.map(({ name, parity }) => {
    const rows = Object.entries(parity?.kinds ?? {})
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([kind, each]) => row(kind, each));
    return `<h2>${escaped(name)}</h2><div class="scroll">${table(rows)}</div>`;
  });
  return htmlPage(
    title,
    `<p>Each shadow has made the same decisions as the primary, without effect. Times to first token are predictions of its own
learned model: how much later (below 0: sooner) its picks would have answered than those of the primary, and how much later each
of the two is than the best endpoint (regret). The last two columns show how reliable the model is: observed over predicted times
to first token, and the mean error of a prediction.</p>
<div class="scroll">${table(shadows.map(overall))}</div>
<ul class="legend">${legend}</ul>
<section>
<figure><figcaption>Where the chosen endpoint is in a shadow’s ranking</figcaption>${placesChart(drawn)}</figure>
<figure><figcaption>First tokens, as predicted and as they came</figcaption>${calibrationChart(drawn)}</figure>
</section>
${kinds.join('\n')}`,
  );
}

function overall({ name, running, parity, restarts, dropped }: ShadowStatus): string {
  const problems = [
    ...(running ? [] : ['down']),
    ...(restarts > 0 ? [`restarts: ${restarts}`] : []),
    ...(dropped > 0 ? [`records dropped: ${dropped}`] : []),
  ];
  const label = [name, ...problems].join(', ');
  return parity === undefined
    ? `<tr><th scope="row">${escaped(label)}</th></tr>`
    : row(label, parity.all);
}

function table(rows: readonly string[]): string {
  const heads = COLUMNS.map(({ head, unit }) => `<th>${head},<br>${unit}</th>`).join('');
  return `<table><thead><tr><th></th><th>decisions</th>${heads}</tr></thead><tbody>${rows.join('\n')}</tbody></table>`;
}

function row(label: string, parity: Parity): string {
  const figures = parityFigures(parity);
  const cells = COLUMNS.map(({ figure, unit }) => `<td>${figureText(figures[figure], unit)}</td>`);
  const decisions = parity.decisions.toLocaleString('en');
  return `<tr><th scope="row">${escaped(label)}</th><td>${decisions}</td>${cells.join('')}</tr>`;
}

function figureText(value: number | undefined, unit: Column['unit']): string {
  if (value === undefined) return '–';
  if (unit === '× predicted') return value.toFixed(2);
  return (unit === '%' ? 100 * value : value).toFixed(1);
}
