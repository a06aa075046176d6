import { DRAWS_MIN } from '../run-summary/compare.ts';
import type { LoadProbe } from '../simulate/saturate.ts';
import type { ServerPlan } from '../simulate/server-plan.ts';
import { axis, barChart, colour, curve, figureChart, symbolOf } from './chart.ts';
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
    label: { show: false },
    data: [{ yAxis: 100 * share }],
  };
  const shares = curves.flatMap(({ probes }) => probes.map(({ summary }) => summary.goodput));
  // Most lie close below 100 %, where an axis from 0 shows no difference.
  const min = 10 * Math.floor(10 * Math.min(share, ...shares) - 0.5);
  return figureChart(
    [
      axis('load, requests/s', { min: 0 }),
      axis('good answers, %', { min: Math.max(0, min), max: 100 }),
    ],
    curves.map(({ probes }, at) => ({
      ...curve(
        at,
        probes.map(({ requestsPerSecond, summary }) => [requestsPerSecond, 100 * summary.goodput]),
      ),
      showSymbol: true,
      symbol: symbolOf(at),
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

/** One figure of each row of a plan as bars, without rows that do not have it. */
export function planBars(
  { rows }: ServerPlan,
  configs: readonly string[],
  figure: 'limitPerSecond' | 'costPerMillion',
  name: string,
): string {
  const bars = rows
    .filter((row) => Number.isFinite(row[figure].mean) && row.limitPerSecond.mean > 0)
    .map(({ shape, config, draws, [figure]: { mean, plusMinus } }) => ({
      name: `${shape === '' ? 'as it is' : shape}${configs.length > 1 ? `, ${config}` : ''}`,
      value: mean,
      text: `${mean.toPrecision(3)}${draws >= DRAWS_MIN && plusMinus > 1e-9 * mean ? ` ±${plusMinus.toPrecision(2)}` : ''}`,
      color: colour(configs.indexOf(config)),
    }));
  return barChart(name, bars);
}
