import type { Parity } from '../shadow/parity.ts';
import { type ParityFigures, parityFigures } from '../shadow/parity-figures.ts';
import type { ShadowStatus } from '../shadow/start-shadow.ts';
import { escaped, htmlPage, htmlTable, legend } from './page.ts';
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

const HEAD = ['', 'decisions', ...COLUMNS.map(({ head, unit }) => `${head},\n${unit}`)];

/** How shadows compare with the primary: over all, and by model, objective and prompt length. */
export function parityPage(title: string, shadows: readonly ShadowStatus[]): string {
  const drawn = shadows.flatMap(({ name, parity }): readonly DrawnShadow[] =>
    parity === undefined ? [] : [{ name, ...parity }],
  );
  const kinds = shadows.map(({ name, parity }) => {
    const rows = Object.entries(parity?.kinds ?? {})
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([kind, each]) => row(kind, each));
    return `<h2>${escaped(name)}</h2><div class="scroll">${htmlTable([HEAD, ...rows])}</div>`;
  });
  return htmlPage(
    title,
    `<p>Each shadow has made the same decisions as the primary, without effect. Times to first token are predictions of its own
learned model: how much later (below 0: sooner) its picks would have answered than those of the primary, and how much later each
of the two is than the best endpoint (regret). The last two columns show how reliable the model is: observed over predicted times
to first token, and the mean error of a prediction.</p>
<div class="scroll">${htmlTable([HEAD, ...shadows.map(overall)])}</div>
${legend(drawn)}
<section>
<figure><figcaption>Where the chosen endpoint is in a shadow’s ranking</figcaption>${placesChart(drawn)}</figure>
<figure><figcaption>First tokens, as predicted and as they came</figcaption>${calibrationChart(drawn)}</figure>
</section>
${kinds.join('\n')}`,
  );
}

function overall({ name, running, parity, restarts, dropped }: ShadowStatus): readonly string[] {
  const own = parity?.ownDecisions ?? 0;
  const notes = [
    ...(running ? [] : ['down']),
    ...(restarts > 0 ? [`restarts: ${restarts}`] : []),
    ...(own > 0 ? [`decided by itself: ${own}, not compared`] : []),
    ...(dropped > 0 ? [`records dropped: ${dropped}`] : []),
  ];
  const label = [name, ...notes].join(', ');
  return parity === undefined ? [label] : row(label, parity.all);
}

function row(label: string, parity: Parity): readonly string[] {
  const figures = parityFigures(parity);
  const cells = COLUMNS.map(({ figure, unit }) => figureText(figures[figure], unit));
  return [label, parity.decisions.toLocaleString('en'), ...cells];
}

function figureText(value: number | undefined, unit: Column['unit']): string {
  if (value === undefined) return '–';
  if (unit === '× predicted') return value.toFixed(2);
  return (unit === '%' ? 100 * value : value).toFixed(1);
}
