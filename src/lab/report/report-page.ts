import type { ConfigReport } from '../run-summary/compare.ts';
import type { HitLadder } from '../run-summary/hit-ladder.ts';
import { comparisonRows } from '../run-summary/render-comparison.ts';
import type { CapacityPlan } from '../simulate/capacity-plan.ts';
import { planRows } from '../simulate/render-plan.ts';
import { type Drawn, distribution, hitLadderBars, hitRates, loadMap, pareto } from './charts.ts';
import { goodputCurves, type LoadCurve, planChart, waitingOverTime } from './load-charts.ts';
import { escaped, htmlPage, htmlTable, legend } from './page.ts';

export interface ReportInput {
  /** Names the trace and the pool. */
  readonly title: string;
  readonly reports: readonly ConfigReport[];
  /** The first draw of each configuration, in the same order. */
  readonly drawn: readonly Drawn[];
  readonly ladder: HitLadder | undefined;
  readonly capacity?: Capacity | undefined;
  /** Sentences above the figures, instead of the one about draws. */
  readonly notes?: readonly string[];
}

/** The highest loads of pools and their costs. */
interface Capacity {
  readonly plan: CapacityPlan;
  /** For the pool without changes, by configuration. */
  readonly curves: readonly LoadCurve[];
  /** Unit of the plan's costs. */
  readonly costUnit: string;
}

/** The columns of `comparisonRows` in words. */
const COMPARISON_HEAD =
  '|TTFT mean, ms|TTFT p50, ms|TTFT p99, ms|per token, ms|end to end, ms|good|found in caches|preempted|failed|TTFT against the first';
/** The columns of `planRows` in words. */
const PLAN_HEAD =
  '|configuration|servers|accelerators|cost per hour|good at this load|TTFT p99, ms|limit, requests/s|cost of 1 M tokens|of 1 M output tokens|';

/** A report of runs as a self-contained HTML page. */
export function reportPage(input: ReportInput): string {
  const { title, reports, drawn, ladder, capacity, notes } = input;
  const sentences = notes ?? [aboutDraws(reports[0]?.seeds ?? 0)];
  return htmlPage(
    title,
    `${sentences.map((note) => `<p>${escaped(note)}</p>`).join('\n')}
<div class="scroll">${htmlTable([COMPARISON_HEAD.split('|'), ...comparisonRows(reports).slice(1)])}</div>
${legend(drawn)}
<section>
${figure('Time to first token', distribution(drawn, 'ttft', 'time to first token'))}
${figure('Time per output token', distribution(drawn, 'tpot', 'time per output token'))}
${figure('End to end', distribution(drawn, 'e2e', 'end to end'))}
${figure('First tokens against output tokens', pareto(reports))}
${figure('Requests that wait for their first token', waitingOverTime(drawn))}
</section>
${ladder === undefined ? '' : cacheSection(reports, drawn, ladder)}
${capacity === undefined ? '' : capacitySection(capacity)}
${loadSection(drawn)}`,
  );
}

function aboutDraws(seeds: number): string {
  return seeds === 1
    ? 'There is one draw, so differences may be chance; use --seeds for more.'
    : `${seeds} draws, with 95 % intervals. “Against the first” is paired draw by draw, so that only the configuration differs.`;
}

function cacheSection(
  reports: readonly ConfigReport[],
  drawn: readonly Drawn[],
  ladder: HitLadder,
): string {
  return `<h2>Prompt tokens found in caches</h2>
<p>Grey shows what could be found, from light to dark: with unlimited memory; with the pool’s memory as one cache; and with the servers’ own caches, if each request goes where it finds most and evicts least, whatever the queue there.</p>
<section>
${figure('Over the trace', hitRates(drawn, ladder))}
${figure('Over all', hitLadderBars(reports, ladder))}
</section>`;
}

function capacitySection({ plan, curves, costUnit }: Capacity): string {
  const { ttftMs, tpotMs, share } = plan.objective;
  const names = curves.map(({ name }) => name);
  const hasLimits = plan.rows.some(({ limitPerSecond }) => limitPerSecond.mean > 0);
  return `<h2>Capacity</h2>
<p>The objective: ${(100 * share).toFixed(0)} % of answers with the first token within ${ttftMs} ms and ${tpotMs} ms per further token. The limit is the highest load that meets it. Costs are in ${costUnit}, for the tokens of good answers at the limit.</p>
<div class="scroll">${htmlTable([PLAN_HEAD.split('|'), ...planRows(plan).slice(1)])}</div>
<section>
${figure('Good answers against load', goodputCurves(curves, share))}
${hasLimits ? figure('Limit and token cost of each pool', planChart(plan, names)) : ''}
</section>`;
}

function loadSection(drawn: readonly Drawn[]): string {
  const most = Math.max(1, ...drawn.flatMap(({ curves }) => curves.load.flat()));
  const maps = drawn.map((each) => figure(each.name, loadMap(each, most)));
  return `<h2>Work given to each server</h2>
<p>Computed tokens of prompts and answers, over the time of the trace. All maps have the same scale.</p>
<section>
${maps.join('\n')}
</section>`;
}

function figure(caption: string, svg: string): string {
  return `<figure><figcaption>${escaped(caption)}</figcaption>${svg}</figure>`;
}
