import type { ConfigReport } from '../run-summary/compare.ts';
import type { SimulationCurves } from '../run-summary/curves.ts';
import type { HitLadder, HitRate } from '../run-summary/hit-ladder.ts';
import {
  AXIS_LABEL,
  axis,
  barChart,
  chart,
  colour,
  curve,
  figureChart,
  symbolOf,
} from './chart.ts';

/** One configuration with the data of its charts. */
export interface Drawn {
  readonly name: string;
  readonly curves: SimulationCurves;
}

/** The cumulative distribution of a time. */
export function distribution(
  drawn: readonly Drawn[],
  quantity: 'ttft' | 'tpot' | 'e2e',
  name: string,
): string {
  const points = drawn.map(({ curves }) =>
    curves[quantity]
      .map((value, share) => [Math.max(0.1, value), share] as const)
      .filter(([value]) => Number.isFinite(value)),
  );
  return figureChart(
    [axis(`${name}, ms`, timeScale(points.flat())), axis('of 100 requests', { max: 100 })],
    points.map((each, at) => curve(at, each)),
  );
}

/**
 * A logarithmic axis begins and ends at powers of ten: within one of them curves would stand close
 * together, without a number near them.
 */
function timeScale(points: readonly (readonly [ms: number, share: number])[]): object {
  const times = points.map(([ms]) => ms);
  const [least, most] = [Math.min(...times), Math.max(...times)];
  return most < 10 * least ? { scale: true, splitNumber: 4 } : { type: 'log' };
}

/** The hit rates over the trace, with the steps of the ladder in grey. */
export function hitRates(drawn: readonly Drawn[], ladder: HitLadder | undefined): string {
  const binMs = drawn[0]?.curves.binMs ?? 1;
  const points = (spans: readonly number[]): readonly (readonly number[])[] =>
    spans
      .map((rate, bin) => [((bin + 0.5) * binMs) / 1000, 100 * rate])
      .filter(([, rate]) => Number.isFinite(rate));
  const rung = ({ spans }: HitRate, opacity: number): object => ({
    type: 'line',
    showSymbol: false,
    lineStyle: { width: 1, color: 'var(--faint)', opacity },
    areaStyle: { color: 'var(--faint)', opacity: 0.1 },
    data: points(spans),
  });
  const rungs =
    ladder === undefined ? [] : stepsOf(ladder).map(({ rate, opacity }) => rung(rate, opacity));
  return figureChart(
    [axis('time in the trace, s'), axis('prompt tokens found, %', { min: 0 })],
    [...rungs, ...drawn.map(({ curves }, at) => curve(at, points(curves.hitRate)))],
  );
}

/** The known steps, from the highest to the lowest. */
function stepsOf({
  ideal,
  capacityLimited,
  perfectRouting,
}: HitLadder): readonly { name: string; rate: HitRate; opacity: number }[] {
  return [
    { name: 'memory for everything', rate: ideal, opacity: 0.4 },
    { name: 'the pool as one cache', rate: capacityLimited, opacity: 0.7 },
    { name: 'routing by hits alone', rate: perfectRouting, opacity: 1 },
  ].flatMap(({ rate, ...rest }) => (rate === undefined ? [] : [{ rate, ...rest }]));
}

/** The steps of the ladder and the hit rates of the configurations as bars. */
export function hitLadderBars(reports: readonly ConfigReport[], ladder: HitLadder): string {
  const steps = stepsOf(ladder).map(({ name, rate: { overall: share } }) => {
    return { name, share, color: 'var(--faint)' };
  });
  const ours = reports.map(({ name, figures: { hitRate } }, at) => {
    return { name, share: hitRate.mean, color: colour(at) };
  });
  const bars = [...steps, ...ours].map(({ share, ...rest }) => {
    return { ...rest, value: 100 * share, text: `${(100 * share).toFixed(1)} %` };
  });
  return barChart('prompt tokens found, %', bars);
}

/** Mean TTFT and mean TPOT of each configuration, with a line through the Pareto frontier. */
export function pareto(reports: readonly ConfigReport[]): string {
  const points = reports.map(({ figures }) => [figures.ttftMeanMs.mean, figures.tpotMeanMs.mean]);
  return figureChart(
    [
      axis('mean time to first token, ms', { scale: true }),
      axis('mean per output token, ms', { scale: true }),
    ],
    [
      {
        type: 'line',
        step: 'end',
        showSymbol: false,
        lineStyle: { width: 1, color: 'var(--faint)' },
        data: frontier(points),
      },
      ...reports.map((_, at) => ({
        type: 'scatter',
        symbolSize: 14,
        itemStyle: { color: colour(at) },
        symbol: symbolOf(at),
        data: [points[at] ?? []],
      })),
    ],
  );
}

/** The points that no other point beats in both coordinates, from left to right. */
function frontier(points: readonly (readonly number[])[]): number[][] {
  let lowest = Number.POSITIVE_INFINITY;
  return points
    .map(([x = Number.NaN, y = Number.NaN]) => [x, y] as const)
    .toSorted(([a, c], [b, d]) => a - b || c - d)
    .flatMap(([x, y]) => {
      if (!(y < lowest)) return [];
      lowest = y;
      return [[x, y]];
    });
}

/** A heat map of the work of each server over time. `most` tokens have the full colour. */
export function loadMap({ curves }: Drawn, most: number): string {
  const height = Math.max(140, 76 + 14 * curves.load.length);
  return chart(
    {
      grid: { left: 52, right: 16, top: 8, bottom: 68 },
      xAxis: axis('time in the trace, s', {
        type: 'category',
        data: timesOf(curves),
        axisLabel: { ...AXIS_LABEL, interval: (_: number, time: string) => time !== '' },
        axisTick: { show: false },
        splitLine: { show: false },
      }),
      yAxis: axis('', {
        type: 'category',
        data: curves.load.map((_, server) => String(server)),
        splitLine: { show: false },
      }),
      visualMap: { show: false, min: 0, max: most, inRange: { opacity: [0.05, 1] } },
      series: [
        {
          type: 'heatmap',
          itemStyle: { color: 'var(--c0)' },
          data: curves.load.flatMap((row, at) => row.map((tokens, bin) => [bin, at, tokens])),
        },
      ],
    },
    height,
  );
}

/** At most so many times stand below a load map. */
const TIMES_MAX = 8;

/** A round time in seconds for each bin that begins with it or contains it, and nothing for others. */
function timesOf({ binMs, hitRate }: SimulationCurves): string[] {
  const stepMs = roundStep((binMs * hitRate.length) / TIMES_MAX);
  return hitRate.map((_, bin) => {
    const timeMs = Math.ceil((bin * binMs) / stepMs) * stepMs;
    return timeMs < (bin + 1) * binMs ? (timeMs / 1000).toLocaleString('en-US') : '';
  });
}

/** The least of 1, 2, 5, 10, 20, 50 and so on that is not below this. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}
