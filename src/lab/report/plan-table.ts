import type { CapacityPlan, PlanRow } from '../simulate/capacity-plan.ts';
import { estimateText, limitOf, noteOn } from '../simulate/render-plan.ts';
import { escaped } from './page.ts';

/** The load and the cost of each shape of the pool. */
export function planTable(plan: CapacityPlan): string {
  const { rows, cheapestForLoad, cheapestPerToken } = plan;
  const body = rows.map((row, place) => {
    const note = noteOn(row, place, plan);
    const shape = row.shape === '' ? 'as it is' : row.shape;
    const isBest = place === cheapestForLoad || place === cheapestPerToken;
    return `<tr${isBest ? ' class="best"' : ''}><th scope="row">${escaped(shape)}</th><td class="name">${escaped(row.config)}</td>${cellsOf(row)}<td class="name">${note}</td></tr>`;
  });
  const heads = [
    'configuration',
    'servers',
    'accelerators',
    'cost an hour',
    'good at this load, %',
    'TTFT p99, ms',
    'limit, requests/s',
    'cost of 1 M tokens',
    'of 1 M output tokens',
    '',
  ];
  return `<table><thead><tr><th></th>${heads.map((head) => `<th>${head}</th>`).join('')}</tr></thead><tbody>${body.join('\n')}</tbody></table>`;
}

function cellsOf(row: PlanRow): string {
  return [
    String(row.servers),
    String(row.accelerators),
    row.costPerHour.toFixed(2),
    (100 * row.goodput.mean).toFixed(1),
    Math.round(row.ttftP99Ms.mean).toLocaleString('en'),
    limitOf(row),
    estimateText(row.costPerMillion),
    estimateText(row.costPerMillionOutput),
  ]
    .map((text) => `<td>${text}</td>`)
    .join('');
}
