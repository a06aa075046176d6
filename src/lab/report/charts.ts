import type { ConfigReport } from '../run-summary/compare.ts';
import type { SimulationCurves } from '../run-summary/curves.ts';
import type { HitLadder, HitRate } from '../run-summary/hit-ladder.ts';
import { axis, chart, colour, FIGURE, GRID, LETTERS, lineStyle } from './chart.ts';

/** One configuration with the data of its charts. */
export interface Drawn {
  readonly name: string;
  readonly curves: SimulationCurves;
}

/** The cumulative distribution of a time. */
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
        lineStyle: lineStyle(at),
        data: curves[curve]
          .map((value, share): [number, number] => [Math.max(0.1, value), share])
          .filter(([value]) => Number.isFinite(value)),
      })),
    },
    FIGURE,
  );
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
  const { ideal, capacityLimited, perfectRouting } = ladder ?? {};
  const rungs = [
    ...(ideal === undefined ? [] : [rung(ideal, 0.4)]),
    ...(capacityLimited === undefined ? [] : [rung(capacityLimited, 0.7)]),
    ...(perfectRouting === undefined ? [] : [rung(perfectRouting, 1)]),
  ];
  return chart(
    {
      grid: GRID,
      xAxis: axis('time in the trace, s', { type: 'value' }),
      yAxis: axis('prompt tokens found, %', { type: 'value', min: 0 }),
      series: [
        ...rungs,
        ...drawn.map(({ curves }, at) => ({
          type: 'line',
          showSymbol: false,
          lineStyle: lineStyle(at),
          data: points(curves.hitRate),
        })),
      ] as never,
    },
    FIGURE,
  );
}

interface Bar {
  readonly name: string;
  readonly share: number;
  readonly colour: string;
}

/** The steps of the ladder and the hit rates of the configurations as bars. */
export function hitLadderBars(reports: readonly ConfigReport[], ladder: HitLadder): string {
  const faint = 'var(--faint)';
  const rung = (name: string, rate: HitRate | undefined): readonly Bar[] =>
    rate === undefined ? [] : [{ name, share: rate.overall, colour: faint }];
  const bars: readonly Bar[] = [
    ...rung('memory for everything', ladder.ideal),
    ...rung('the pool as one cache', ladder.capacityLimited),
    ...rung('perfect routing', ladder.perfectRouting),
    ...reports.map(({ name, figures }, at) => ({
      name,
      share: figures.hitRate.mean,
      colour: colour(at),
    })),
  ];
  return chart(
    {
      grid: { ...GRID, left: 204, right: 76 },
      xAxis: axis('prompt tokens found, %', { type: 'value', min: 0 }),
      yAxis: axis('', {
        type: 'category',
        inverse: true,
        data: bars.map(({ name }) => name),
        splitLine: { show: false },
        axisLabel: { color: 'var(--ink)', fontSize: LETTERS, width: 190, overflow: 'truncate' },
      }),
      series: [
        {
          type: 'bar',
          data: bars.map((bar) => ({
            value: 100 * bar.share,
            itemStyle: { color: bar.colour },
          })),
          label: {
            show: true,
            position: 'right',
            color: 'var(--ink)',
            formatter: ({ value }) => `${Number(value).toFixed(1)} %`,
          },
        },
      ],
    },
    FIGURE,
  );
}

/** Mean TTFT and mean TPOT of each configuration, with a line through the Pareto frontier. */
export function pareto(reports: readonly ConfigReport[]): string {
  const points = reports.map(({ figures }) => [figures.ttftMeanMs.mean, figures.tpotMeanMs.mean]);
  return chart(
    {
      grid: { ...GRID, right: 120 },
      xAxis: axis('mean time to first token, ms', { type: 'value', scale: true }),
      yAxis: axis('mean per output token, ms', { type: 'value', scale: true }),
      series: [
        {
          type: 'line' as const,
          step: 'end' as const,
          showSymbol: false,
          lineStyle: { width: 1, color: 'var(--faint)' },
          data: frontier(points),
        },
        ...reports.map(({ name }, at) => ({
          type: 'scatter' as const,
          symbolSize: 14,
          itemStyle: { color: colour(at) },
          labelLayout: { moveOverlap: 'shiftY' as const },
          label: { show: true, position: 'right' as const, formatter: name, color: 'var(--ink)' },
          data: [points[at] ?? []],
        })),
      ],
    },
    FIGURE,
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
  const spanS = curves.binMs / 1000;
  // As many digits as it takes for each bin to have a different label.
  const digits = Math.max(0, Math.ceil(-Math.log10(spanS)));
  return chart(
    {
      grid: { left: 52, right: 16, top: 8, bottom: 68 },
      xAxis: axis('time in the trace, s', {
        type: 'category',
        data: curves.hitRate.map((_, bin) => (bin * spanS).toFixed(digits)),
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
    { ...FIGURE, height },
  );
}
