import type { ConfigReport } from '../simulate/compare.ts';
import type { SimulationCurves } from '../simulate/curves.ts';
import { axis, chart, colour, dashOf } from './chart.ts';

/** One configuration as it is drawn: the same colour everywhere. */
export interface Drawn {
  readonly name: string;
  readonly curves: SimulationCurves;
}

const WIDE = { width: 720, height: 360 };
const GRID = { left: 64, right: 24, top: 24, bottom: 56 };

/** The share of requests that stay below a time: the further left, the sooner. */
export function distribution(
  drawn: readonly Drawn[],
  curve: 'ttft' | 'tpot' | 'e2e',
  name: string,
): string {
  return chart(
    {
      grid: GRID,
      xAxis: axis(`${name}, ms`, { type: 'log' }),
      yAxis: axis('of 100 requests', { type: 'value', max: 100 }),
      series: drawn.map(({ curves }, at) => ({
        type: 'line',
        showSymbol: false,
        lineStyle: { width: 2, color: colour(at), type: dashOf(at) },
        data: curves[curve]
          .map((value, share): [number, number] => [Math.max(0.1, value), share])
          .filter(([value]) => Number.isFinite(value)),
      })),
    },
    WIDE,
  );
}

/** Found in a cache, over the trace, below what could be found at all. */
export function hitRates(
  drawn: readonly Drawn[],
  ceilings: { readonly unlimited: number; readonly oneCache: number },
): string {
  const last = drawn[0]?.curves;
  const endS = last === undefined ? 1 : (last.binMs * last.hitRate.length) / 1000;
  const level = (share: number, name: string): object => ({
    type: 'line',
    showSymbol: false,
    lineStyle: { width: 1, type: 'dotted', color: 'var(--faint)' },
    endLabel: {
      show: true,
      formatter: name,
      color: 'var(--faint)',
      align: 'right',
      offset: [0, -9],
    },
    data: [
      [0, 100 * share],
      [endS, 100 * share],
    ],
  });
  return chart(
    {
      grid: GRID,
      xAxis: axis('time in the trace, s', { type: 'value', max: endS }),
      yAxis: axis('prompt tokens found, %', { type: 'value', min: 0 }),
      series: [
        ...[
          { share: ceilings.unlimited, name: 'memory for everything' },
          { share: ceilings.oneCache, name: 'the pool as one cache' },
        ]
          .filter(({ share }) => Number.isFinite(share))
          .map(({ share, name }) => level(share, name)),
        ...drawn.map(({ curves }, at) => ({
          type: 'line' as const,
          showSymbol: false,
          lineStyle: { width: 2, color: colour(at), type: dashOf(at) },
          data: curves.hitRate
            .map((rate, bin): [number, number] => [((bin + 0.5) * curves.binMs) / 1000, 100 * rate])
            .filter(([, rate]) => Number.isFinite(rate)),
        })),
      ] as never,
    },
    WIDE,
  );
}

/** Each configuration by its two figures: lower left is better. */
export function pareto(reports: readonly ConfigReport[]): string {
  return chart(
    {
      grid: { ...GRID, right: 120 },
      xAxis: axis('mean time to first token, ms', { type: 'value', scale: true }),
      yAxis: axis('mean time per output token, ms', { type: 'value', scale: true }),
      series: reports.map(({ name, figures }, at) => ({
        type: 'scatter' as const,
        symbolSize: 14,
        itemStyle: { color: colour(at) },
        label: { show: true, position: 'right' as const, formatter: name, color: 'var(--ink)' },
        data: [[figures.ttftMeanMs.mean, figures.tpotMeanMs.mean]],
      })),
    },
    WIDE,
  );
}

/** Work that each server was given, span by span: an even picture is an even load. */
export function loadMap({ curves }: Drawn, most: number): string {
  const height = Math.max(120, 56 + 14 * curves.load.length);
  const spanS = curves.binMs / 1000;
  return chart(
    {
      grid: { left: 48, right: 12, top: 8, bottom: 48 },
      xAxis: axis('time in the trace, s', {
        type: 'category',
        data: curves.hitRate.map((_, bin) => String(Math.round(bin * spanS))),
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
          data: curves.load.flatMap((row, server) =>
            row.map((tokens, bin) => [bin, server, tokens]),
          ),
        },
      ],
    },
    { width: 720, height },
  );
}
