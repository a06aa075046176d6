import type { CapacityPlan } from '../simulate/capacity-plan.ts';
import type { LoadProbe } from '../simulate/saturate.ts';
import { axis, colour, curve, figureChart, GRID } from './chart.ts';
import type { Drawn } from './charts.ts';

/** The figures of a configuration under each load of a search. */
export interface LoadCurve {
  readonly name: string;
  readonly probes: readonly LoadProbe[];
}

/** The share of good answers over the load, with the objective as a line. */
export function goodputCurves(curves: readonly LoadCurve[], share: number): string {
  const objective = {
    silent: true,
    symbol: 'none',
    lineStyle: { color: 'var(--faint)', type: 'dotted' },
    label: { formatter: 'objective', position: 'insideStartBottom', color: 'var(--faint)' },
    data: [{ yAxis: 100 * share }],
  };
  return figureChart(
    [axis('load, requests/s', { min: 0 }), axis('good answers, %', { min: 0, max: 100 })],
    curves.map(({ probes }, at) => ({
      ...curve(
        at,
        probes.map(({ requestsPerSecond, summary }) => [requestsPerSecond, 100 * summary.goodput]),
      ),
      showSymbol: true,
      symbol: 'circle',
      symbolSize: 6,
      itemStyle: { color: colour(at) },
      ...(at === 0 && { markLine: objective }),
    })),
  );
}

/** The number of requests that wait for their first token, over the trace. */
export function waitingOverTime(drawn: readonly Drawn[]): string {
  return figureChart(
    [axis('time in the trace, s'), axis('requests that wait', { min: 0 })],
    drawn.map(({ curves: { waiting, binMs } }, at) => {
      const points = waiting.map((count, bin) => [((bin + 0.5) * binMs) / 1000, count]);
      return curve(at, points);
    }),
  );
}

/** The limit of each shape of the pool and the cost of its tokens. */
export function planChart({ rows }: CapacityPlan, configs: readonly string[]): string {
  const label = { show: true, position: 'right', color: 'var(--ink)' };
  return figureChart(
    [axis('limit, requests/s', { scale: true }), axis('cost of a million tokens', { scale: true })],
    configs.map((config, at) => ({
      type: 'scatter',
      symbolSize: 11,
      itemStyle: { color: colour(at) },
      labelLayout: { moveOverlap: 'shiftY' },
      data: rows
        .filter((row) => row.config === config && row.limitPerSecond.mean > 0)
        .map(({ shape, limitPerSecond, costPerMillion }) => ({
          value: [limitPerSecond.mean, costPerMillion.mean],
          label: { ...label, formatter: shape === '' ? 'as it is' : shape },
        })),
    })),
    { ...GRID, right: 110 },
  );
}
