import { grouped } from '../../framework/values/grouped.ts';
import { tableWithin } from '../../framework/values/text-table.ts';
import { DRAWS_MIN, type Estimate } from '../run-summary/compare.ts';
import { rateText } from '../traces/trace.ts';
import type { PlanRow, ServerPlan } from './server-plan.ts';

const HEAD =
  'pool|config|servers|accelerators|per hour|good|TTFT p99 ms|limit req/s|per M tokens|per M output|';

/**
 * `planRows` as text with explanations, with `unit` as the unit of the costs; the table is at most
 * `columns` wide where names allow.
 */
export function renderPlan(
  plan: ServerPlan,
  unit: string,
  columns: number = Number.POSITIVE_INFINITY,
): string {
  const { rows, objective } = plan;
  const load = rows[0] === undefined ? '' : rateText(rows[0].requestsPerSecond);
  const asked = `${(100 * objective.share).toFixed(0)} % of answers with TTFT under ${grouped(objective.ttftMs)} ms and ${grouped(objective.tpotMs)} ms per further token`;
  return `objective: ${asked}; this load: ${load} requests/s; costs in ${unit}\n${tableWithin(planRows(plan), columns, 2)}${limitNotes(rows)}`;
}

/** The cells of a table with a head and the load and the cost of each shape. */
export function planRows(plan: ServerPlan): readonly (readonly string[])[] {
  const cells = plan.rows.map((row, place) => [
    row.shape === '' ? 'as it is' : row.shape,
    row.config,
    grouped(row.servers),
    grouped(row.accelerators),
    row.costPerHour.toFixed(2),
    `${(100 * row.goodput.mean).toFixed(1)} %`,
    Math.round(row.ttftP99Ms.mean).toLocaleString('en'),
    limitOf(row),
    estimateText(row.costPerMillion, row.draws),
    estimateText(row.costPerMillionOutput, row.draws),
    noteOn(row, place, plan),
  ]);
  return [HEAD.split('|'), ...cells];
}

function limitNotes(rows: readonly PlanRow[]): string {
  const none = rows.some(({ limitPerSecond }) => limitPerSecond.mean === 0);
  const higher = rows.some(({ limitIsHigher }) => limitIsHigher);
  const noneNote = none ? 'none: a sixteenth of this load misses the objective, too\n' : '';
  const longer = '≥: faster, the trace would be over in less than 30 s; take a longer one\n';
  return noneNote + (higher ? longer : '');
}

function limitOf({ limitPerSecond, limitIsHigher, draws }: PlanRow): string {
  if (limitPerSecond.mean === 0) return 'none';
  return `${limitIsHigher ? '≥ ' : ''}${estimateText(limitPerSecond, draws)}`;
}

/** A dash if the figure is unknown; no interval from too few draws. */
function estimateText({ mean, plusMinus }: Estimate, draws: number): string {
  if (!Number.isFinite(mean)) return '–';
  const digits = mean < 1 ? 3 : 2;
  // Draws that agree differ by the rounding of their sums.
  const interval =
    draws >= DRAWS_MIN && plusMinus > 1e-9 * mean ? ` ±${plusMinus.toFixed(digits)}` : '';
  return `${mean.toFixed(digits)}${interval}`;
}

/** What stands out about the row with this index. */
function noteOn(row: PlanRow, place: number, plan: ServerPlan): string {
  const { meets, mayBeChance } = row;
  const { rows, cheapestForLoad = -1, cheapestPerToken, asCheap } = plan;
  const chance = mayBeChance ? ', which may be chance' : '';
  const leastPerHour = meets && row.costPerHour === rows[cheapestForLoad]?.costPerHour;
  return [
    ...(meets ? [] : [`misses the objective${chance}`]),
    ...(meets && mayBeChance ? [`meets the objective${chance}`] : []),
    ...(leastPerHour && !mayBeChance ? ['cheapest that carries this load'] : []),
    ...(place === cheapestPerToken ? [perTokenNote(row, plan)] : []),
    ...(asCheap.includes(place) ? ['as cheap per token, within the noise'] : []),
  ].join(', ');
}

/** No row is called cheapest within the noise. */
function perTokenNote({ draws }: PlanRow, { asCheap }: ServerPlan): string {
  if (draws === 1) return 'lowest cost per token in this one draw';
  return asCheap.length > 0 ? 'lowest cost per token, within the noise' : 'cheapest per token';
}
