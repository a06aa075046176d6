import type { CapacityPlan } from '../simulate/capacity-plan.ts';
import type { LoadProbe } from '../simulate/saturate.ts';
import { axis, chart, colour, FIGURE, GRID, lineStyle } from './chart.ts';
import type { Drawn } from './charts.ts';

/** The figures of a configuration under each load of a search. */
export interface LoadCurve {
  readonly name: string;
  readonly probes: readonly LoadProbe[];
}

/** The share of good answers over the load, with the objective as a line. */
export function goodputCurves(curves: readonly LoadCurve[], share: number): string {
  return chart(
    {
      grid: GRID,
      xAxis: axis('load, requests/s', { type: 'value', min: 0 }),
      yAxis: axis('good answers, %', { type: 'value', min: 0, max: 100 }),
      series: curves.map(({ probes }, at) => ({
        type: 'line' as const,
        symbol: 'circle',
        symbolSize: 6,
        itemStyle: { color: colour(at) },
        lineStyle: lineStyle(at),
        data: probes.map(({ requestsPerSecond, summary }) => [
          requestsPerSecond,
          100 * summary.goodput,
        ]),
        ...(at === 0 && {
          markLine: {
            silent: true,
            symbol: 'none',
            lineStyle: { color: 'var(--faint)', type: 'dotted' as const },
            label: {
              formatter: 'objective',
              position: 'insideStartBottom' as const,
              color: 'var(--faint)',
            },
            data: [{ yAxis: 100 * share }],
          },
        }),
      })),
    },
    FIGURE,
  );
}

/** The number of requests that wait for their first token, over the trace. */
export function waitingOverTime(drawn: readonly Drawn[]): string {
  return chart(
    {
      grid: GRID,
      xAxis: axis('time in the trace, s', { type: 'value' }),
      yAxis: axis('requests that wait', { type: 'value', min: 0 }),
      series: drawn.map(({ curves }, at) => ({
        type: 'line' as const,
        showSymbol: false,
        lineStyle: lineStyle(at),
        data: curves.waiting.map((count, bin) => [((bin + 0.5) * curves.binMs) / 1000, count]),
      })),
    },
    FIGURE,
  );
}

/** The limit of each shape of the pool and the cost of its tokens. */
export function planChart({ rows }: CapacityPlan, configs: readonly string[]): string {
  return chart(
    {
      grid: { ...GRID, right: 110 },
      xAxis: axis('limit, requests/s', { type: 'value', scale: true }),
      yAxis: axis('cost of a million tokens', { type: 'value', scale: true }),
      series: configs.map((config, at) => ({
        type: 'scatter' as const,
        symbolSize: 11,
        itemStyle: { color: colour(at) },
        labelLayout: { moveOverlap: 'shiftY' as const },
        data: rows
          .filter((row) => row.config === config && row.limitPerSecond.mean > 0)
          .map(({ shape, limitPerSecond, costPerMillion }) => ({
            value: [limitPerSecond.mean, costPerMillion.mean],
            label: {
              show: true,
              position: 'right' as const,
              formatter: shape === '' ? 'as it is' : shape,
              color: 'var(--ink)',
            },
          })),
      })),
    },
    FIGURE,
  );
}
