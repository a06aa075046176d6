import { type EChartsOption, init } from 'echarts';

interface ChartSize {
  readonly width: number;
  readonly height: number;
}

/** Okabe and Ito's colours, which colour-blind readers can distinguish; the page defines them. */
const COLOURS: readonly string[] = Array.from({ length: 8 }, (_, at) => `var(--c${at})`);

/** Font size. On a phone, charts shrink by a third; on wide screens the page's style reduces it. */
export const LETTERS = 17;

/** The size of most charts, small so that text stays legible on a phone. */
export const FIGURE: ChartSize = { width: 540, height: 320 };
export const GRID: Readonly<Record<'left' | 'right' | 'top' | 'bottom', number>> = {
  left: 76,
  right: 28,
  top: 24,
  bottom: 68,
};

/** A chart as SVG, with the colours of the page's style and the width of its container. */
export function chart(option: EChartsOption, { width, height }: ChartSize): string {
  const instance = init(null, null, { renderer: 'svg', ssr: true, width, height });
  const ink = { color: 'var(--ink)', fontFamily: 'system-ui, sans-serif', fontSize: LETTERS };
  instance.setOption({ animation: false, textStyle: ink, color: [...COLOURS], ...option });
  const svg = instance.renderToSVGString({ useViewBox: true });
  instance.dispose();
  // The chart fills the width of its container and keeps its proportions.
  return svg.replace(/^<svg width="\d+" height="\d+"/, '<svg width="100%"');
}

/** A chart of the usual size. */
export function figureChart(
  [xAxis, yAxis]: readonly [x: object, y: object],
  series: readonly object[],
  grid: object = GRID,
): string {
  return chart({ grid, xAxis, yAxis, series: series as never }, FIGURE);
}

/** A curve without symbols, in the style of the configuration with this index. */
export function curve(at: number, data: readonly (readonly number[])[]): object {
  return { type: 'line', showSymbol: false, lineStyle: lineStyle(at), data };
}

/** An axis in the page's colours. */
export function axis(name: string, more: object = {}): object {
  return {
    name,
    nameLocation: 'middle',
    nameGap: 42,
    nameTextStyle: { color: 'var(--faint)', fontSize: LETTERS },
    axisLine: { lineStyle: { color: 'var(--line)' } },
    axisLabel: { color: 'var(--faint)', fontSize: LETTERS, hideOverlap: true },
    splitLine: { lineStyle: { color: 'var(--line)' } },
    ...more,
  };
}

/** The colour of the configuration with this index, the same in all charts. */
export function colour(at: number): string {
  return COLOURS[at % COLOURS.length] ?? 'var(--ink)';
}

/** The style of a curve, with dashes so that it is distinguishable without colours. */
export function lineStyle(at: number): {
  readonly width: number;
  readonly color: string;
  readonly type: 'solid' | 'dashed' | 'dotted';
} {
  const dash = (['solid', 'dashed', 'dotted'] as const)[at % 3] ?? 'solid';
  return { width: 2, color: colour(at), type: dash };
}
