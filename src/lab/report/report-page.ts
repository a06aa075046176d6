import { type ConfigReport, DRAWS_MIN, type RowKind } from '../run-summary/compare.ts';
import type { HitLadder } from '../run-summary/hit-ladder.ts';
import { comparisonRows } from '../run-summary/render-comparison.ts';
import type { Verdict } from '../run-summary/verdict.ts';
import { planRows } from '../simulate/render-plan.ts';
import type { ServerPlan } from '../simulate/server-plan.ts';
import { type Drawn, distribution, hitLadderBars, hitRates, loadMap, pareto } from './charts.ts';
import { goodputCurves, type LoadCurve, planBars, waitingOverTime } from './load-charts.ts';
import {
  escaped,
  type Facts,
  factBox,
  figure,
  htmlPage,
  htmlTable,
  legend,
  withFlags,
} from './page.ts';

export interface ReportInput {
  /** Names the trace and the pool. */
  readonly title: string;
  readonly verdict: Verdict;
  /** What was run: names and values. */
  readonly facts: Facts;
  readonly reports: readonly ConfigReport[];
  /** Configurations where it is left out. */
  readonly rowKind?: RowKind;
  /** The first draw of each configuration, in the same order. */
  readonly drawn: readonly Drawn[];
  readonly ladder: HitLadder | undefined;
  readonly capacity?: Capacity | undefined;
  /** Sentences below the facts. */
  readonly notes?: readonly string[];
}

/** The highest loads of pools and their costs. */
interface Capacity {
  readonly plan: ServerPlan;
  /** For the pool without changes, by configuration. */
  readonly curves: readonly LoadCurve[];
  /** Unit of the plan's costs. */
  readonly costUnit: string;
}

/** The columns of `comparisonRows` in words, without the last. */
const COMPARISON_HEAD =
  'time to first token, mean, ms|half of them within, ms|99 of 100 within, ms|per further token, ms|to the end, ms|good answers|prompt found in caches|preempted|failed'.split(
    '|',
  );
/** The columns of `planRows` in words; the notes come first. */
const PLAN_HEAD =
  'pool|what stands out|configuration|servers|accelerators|cost per hour|good answers at this load|99 of 100 first tokens within, ms|limit, requests/s|cost of 1 M tokens|of 1 M output tokens'.split(
    '|',
  );

/** A report of runs as a self-contained HTML page. */
export function reportPage(input: ReportInput): string {
  const { title, verdict, facts, reports, drawn, ladder, capacity, notes = [] } = input;
  const { rowKind = 'configuration' } = input;
  return htmlPage(
    title,
    `<p class="verdict">${escaped(verdict.headline)}</p>
${verdict.cautions.map((caution) => `<p class="caution"><b>Caution.</b> ${withFlags(escaped(caution))}</p>`).join('\n')}
${factBox(facts)}
<div class="scroll${reports.length > 1 ? ' worded' : ''}">${htmlTable(verdictRows(reports, verdict, rowKind))}</div>
<p>${escaped(`${reports.length > 1 ? COMPARED_LEGEND : ''}${TABLE_LEGEND}`)}${(reports[0]?.seeds ?? 1) >= DRAWS_MIN ? ` ${escaped(INTERVAL_LEGEND)}` : ''}</p>
${notes.map((note) => `<p>${escaped(note)}</p>`).join('\n')}
${legend(drawn)}
<section>
${timeFigures(drawn)}
${figure('First tokens against further tokens', `Each mark is one ${rowKind}, in its colour and shape of the list above. Further left, first tokens come sooner; further down, answers flow faster. No other ${rowKind} is better in both than those on the grey line.`, pareto(reports))}
${figure('Requests that wait for their first token', 'How many wait at one time, over the trace. Lower is better; a curve that keeps rising means overload.', waitingOverTime(drawn))}
</section>
${ladder === undefined ? '' : cacheSection(reports, drawn, ladder)}
${capacity === undefined ? '' : capacitySection(capacity)}
${loadSection(drawn)}`,
  );
}

const COMPARED_LEGEND =
  'The second column compares the mean time to first token with the first row’s, on the same requests. ';
const TABLE_LEGEND =
  'An answer is good if its first token and its further tokens come within the objective.';
const INTERVAL_LEGEND =
  '± is a 95 % interval over the draws; differences are taken draw by draw, so that only the configuration differs.';

function verdictRows(
  reports: readonly ConfigReport[],
  { rows }: Verdict,
  rowKind: RowKind,
): readonly (readonly string[])[] {
  const [, ...figures] = comparisonRows(reports);
  const compared = reports.length > 1;
  const head = compared ? [`first token, against\n${reports[0]?.name ?? ''}`] : [];
  return [
    [rowKind, ...head, ...COMPARISON_HEAD],
    ...figures.map(([name = '', ...cells], at) => [
      name,
      ...(compared ? [rows[at] ?? ''] : []),
      ...cells.slice(0, COMPARISON_HEAD.length),
    ]),
  ];
}

function timeFigures(drawn: readonly Drawn[]): string {
  const legendOf = (what: string): string =>
    `How many of 100 requests have ${what} within the time below. A curve further left is better.`;
  return [
    figure(
      'Time to first token',
      legendOf('their first token'),
      distribution(drawn, 'ttft', 'time to first token'),
    ),
    figure(
      'Time per output token',
      legendOf('each further token, on average,'),
      distribution(drawn, 'tpot', 'time per output token'),
    ),
    figure(
      'To the end of the answer',
      legendOf('their whole answer'),
      distribution(drawn, 'e2e', 'time to the end'),
    ),
  ].join('\n');
}

function cacheSection(
  reports: readonly ConfigReport[],
  drawn: readonly Drawn[],
  ladder: HitLadder,
): string {
  return `<h2>Prompt tokens found in caches</h2>
<p>A prompt whose beginning is in a server’s cache needs less computing. Grey shows what caches would find if requests were answered one after the other as they come, from light to dark: with unlimited memory; with the pool’s memory as one cache; and with the servers’ own caches, each request going where it finds most and evicts least, whatever the queue there. Only the first is a bound: servers answer many requests at once, and a configuration under which requests wait has another order, so that it can find more than the other two.</p>
<section>
${figure('Over the trace', 'Share of the prompt tokens that were found, in each part of the trace. Higher is better.', hitRates(drawn, ladder))}
${figure('Over all', 'The same over the whole trace; grey bars are these caches.', hitLadderBars(reports, ladder))}
</section>`;
}

function capacitySection({ plan, curves, costUnit }: Capacity): string {
  const { ttftMs, tpotMs, share } = plan.objective;
  const names = curves.map(({ name }) => name);
  const rows = planRows(plan)
    .slice(1)
    .map((cells) => [cells[0] ?? '', cells.at(-1) ?? '', ...cells.slice(1, -1)]);
  const hasLimits = plan.rows.some(({ limitPerSecond }) => limitPerSecond.mean > 0);
  return `<h2>Capacity</h2>
<p>The objective: ${(100 * share).toFixed(0)} % of answers with the first token within ${ttftMs.toLocaleString('en')} ms and ${tpotMs.toLocaleString('en')} ms per further token. The limit is the highest load that meets it. Costs are in ${escaped(costUnit)}, for the tokens of good answers at the limit. A row is called cheapest only if no other row is as cheap within the noise.</p>
<div class="scroll worded plan">${htmlTable([PLAN_HEAD, ...rows])}</div>
<section>
${figure('Good answers against load', 'The share of good answers if requests come faster. The dotted line is the objective: the load where a curve falls below it is the limit.', goodputCurves(curves, share))}
${hasLimits ? planFigures(plan, names) : ''}
</section>`;
}

function planFigures(plan: ServerPlan, names: readonly string[]): string {
  return [
    figure(
      'Limit of each pool',
      'The highest load that meets the objective, without pools that meet it at no load. Longer is better.',
      planBars(plan, names, 'limitPerSecond', 'requests/s'),
    ),
    figure(
      'Cost of a million tokens',
      'At the limit, prompts and good answers together. Shorter is better.',
      planBars(plan, names, 'costPerMillion', 'cost of a million tokens'),
    ),
  ].join('\n');
}

function loadSection(drawn: readonly Drawn[]): string {
  const most = Math.max(1, ...drawn.flatMap(({ curves }) => curves.load.flat()));
  const maps = drawn.map((each) =>
    figure(each.name, 'Each row is one server.', loadMap(each, most)),
  );
  return `<h2>Work given to each server</h2>
<p>Computed tokens of prompts and answers, over the time of the trace: the darker, the more. All maps have the same scale. Rows that look alike mean that the work is spread evenly.</p>
<section>
${maps.join('\n')}
</section>`;
}
