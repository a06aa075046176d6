import { explainedText } from '../../shadow/explained-decisions.ts';
import type { Parity } from '../../shadow/parity.ts';
import { type ParityFigures, parityFigures } from '../../shadow/parity-figures.ts';
import type { ShadowStatus } from '../../shadow/start-shadow.ts';
import { undecidedText } from '../../shadow/undecided-text.ts';
import { escaped, type Facts, factBox, figure, htmlPage, htmlTable, legend } from './page.ts';
import { calibrationChart, type DrawnShadow, placesChart } from './parity-charts.ts';

interface Column {
  readonly head: string;
  readonly figure: keyof ParityFigures;
  readonly unit: 'ms' | '%' | '× predicted';
}

const COLUMNS: readonly Column[] = [
  { head: 'same endpoint', figure: 'agreement', unit: '%' },
  { head: 'in its best 3', figure: 'topThree', unit: '%' },
  { head: 'first token, later by', figure: 'ttftDifferenceMs', unit: 'ms' },
  { head: 'in charge, behind the best endpoint', figure: 'primaryRegretMs', unit: 'ms' },
  { head: 'shadow, behind the best endpoint', figure: 'shadowRegretMs', unit: 'ms' },
  { head: 'first tokens, observed', figure: 'observedOverPredicted', unit: '× predicted' },
  { head: 'prediction off by', figure: 'predictionErrorMs', unit: 'ms' },
];

const HEAD = ['', 'decisions', ...COLUMNS.map(({ head, unit }) => `${head},\n${unit}`)];

/** With a mark at thousands. */
const TENTHS = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** Fewer decisions than this give no interval (see PairedGain). */
const DECISIONS_MIN = 5000;

/**
 * How shadows compare with the picker in charge: over all, and by model, objective and prompt
 * length. `facts` say where the figures come from.
 */
export function parityPage(title: string, shadows: readonly ShadowStatus[], facts: Facts): string {
  const drawn = shadows.flatMap(({ name, parity }): readonly DrawnShadow[] =>
    parity === undefined ? [] : [{ name, ...parity }],
  );
  const kinds = shadows.map(({ name, parity }) => {
    const rows = Object.entries(parity?.kinds ?? {})
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([kind, each]) => row(kind, each));
    return `<h2>${escaped(name)}</h2><div class="scroll">${htmlTable([HEAD, ...rows])}</div>`;
  });
  const explained = shadows.flatMap(({ name, parity }) =>
    parity?.explained === undefined
      ? []
      : [
          `<p>${escaped(`${name}, beside the observed picker: ${explainedText(parity.explained)}.`)}</p>`,
        ],
  );
  return htmlPage(
    title,
    `${shadows.map((shadow) => `<p class="verdict">${escaped(headlineOf(shadow))}</p>`).join('\n')}
${explained.join('\n')}
<p class="caution"><b>Caution.</b> The times are predictions of each shadow’s own learned model, not measurements: no request went where a shadow would have sent it. The last two columns say how reliable the model is.</p>
${factBox(facts)}
<div class="scroll">${htmlTable([HEAD, ...shadows.map(overall)])}</div>
<p>${escaped(TABLE_LEGEND)}</p>
${legend(drawn)}
<section>
${figure('Where the chosen endpoint is in a shadow’s ranking', 'In how many of 100 decisions the chosen endpoint is the shadow’s best, one of its best two, and so on.', placesChart(drawn))}
${figure('First tokens, as predicted and as they came', 'Each mark is a range of predictions. On the dotted line they are right; above it, first tokens come later than predicted.', calibrationChart(drawn))}
</section>
${kinds.join('\n')}`,
  );
}

const TABLE_LEGEND =
  '“First token, later by”: the predicted difference on average, below 0 where the shadow’s endpoints would have answered sooner. “Behind the best endpoint”: how much later than the best endpoint the endpoint in charge, and the shadow’s endpoint, would answer.';

/** What the comparison says in a sentence, and how sure it is. */
function headlineOf({ name, parity }: ShadowStatus): string {
  const undecided = undecidedText(parity?.replacement);
  const left = undecided === undefined ? '' : ` But ${undecided}.`;
  return `${comparedText(name, parity)}${left}`;
}

function comparedText(name: string, parity: ShadowStatus['parity']): string {
  if (parity === undefined || parity.all.decisions === 0) return `${name} has decided nothing yet.`;
  const { all, gain } = parity;
  const agreement = figureText(parityFigures(all).agreement, '%');
  const same = `${name} chooses the same endpoint in ${agreement} % of ${all.decisions.toLocaleString('en')} decisions`;
  if (all.predicted === 0)
    return `${same}; times are predicted only with approx-prefix-cache-producer in its configuration.`;
  if (!Number.isFinite(gain.percent)) return `${same}.`;
  const way = gain.percent < 0 ? 'later' : 'sooner';
  const size = TENTHS.format(Math.abs(gain.percent));
  const { lowPercent: low, highPercent: high } = gain;
  // What is not known yet is NaN, which JSON turns into null.
  if (!Number.isFinite(low) || !Number.isFinite(high)) {
    return `${same}; its first tokens would come ${size} % ${way}, which may be chance: an interval needs ${DECISIONS_MIN.toLocaleString('en')} decisions.`;
  }
  const interval = `95 % interval of the gain: ${low.toFixed(1)} to ${high.toFixed(1)} %`;
  if (low <= 0 && high >= 0) {
    return `${same}; no difference of first tokens beyond chance (${interval}).`;
  }
  return `${same}; its first tokens would come ${size} % ${way} (${interval}).`;
}

function overall({
  name,
  running,
  parity,
  restarts,
  dropped,
  waiting,
}: ShadowStatus): readonly string[] {
  const own = parity?.ownDecisions ?? 0;
  const notes = [
    ...(running ? [] : ['down']),
    ...(restarts > 0 ? [`restarts: ${restarts.toLocaleString('en')}`] : []),
    ...(own > 0 ? [`decided by itself: ${own.toLocaleString('en')}, not compared`] : []),
    ...(dropped > 0 ? [`records dropped: ${dropped.toLocaleString('en')}`] : []),
    ...(waiting > 0 ? [`records waiting: ${waiting.toLocaleString('en')}`] : []),
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
  return TENTHS.format(unit === '%' ? 100 * value : value);
}
