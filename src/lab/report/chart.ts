import { type EChartsOption, init } from 'echarts';

/** Okabe and Ito's colours, which colour-blind readers can distinguish; the page defines them. */
const COLOURS: readonly string[] = Array.from({ length: 8 }, (_, at) => `var(--c${at})`);

/** Font size. On a phone, charts shrink by a third; on wide screens the page's style reduces it. */
const LETTERS = 17;

/** The size of most charts, small so that text stays legible on a phone. */
const FIGURE = { width: 540, height: 320 } as const;
const GRID = { left: 76, right: 28, top: 24, bottom: 68 } as const;

/** A chart as SVG, with the colours of the page's style and the width of its container. */
export function chart(option: EChartsOption, height: number = FIGURE.height): string {
  const { width } = FIGURE;
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
): string {
  return chart({ grid: GRID, xAxis, yAxis, series: series as never });
}

/** A curve without symbols, in the style of the configuration with this index. */
export function curve(at: number, data: readonly (readonly number[])[]): object {
  return { type: 'line', showSymbol: false, lineStyle: lineStyle(at), data };
}

/** What fits into two lines beside a bar. */
const NAME_CHARS_MAX = 38;

export interface Bar {
  readonly name: string;
  readonly value: number;
  /** What stands at its end. */
  readonly text: string;
  readonly color: string;
}

/**
 * Horizontal bars under each other with their names at the left, so that no label meets another.
 */
export function barChart(name: string, bars: readonly Bar[]): string {
  const names = axis('', {
    type: 'category',
    inverse: true,
    data: bars.map((bar) => ends(bar.name)),
    splitLine: { show: false },
    axisLabel: {
      color: 'var(--ink)',
      fontSize: LETTERS,
      width: 180,
      overflow: 'break',
      lineHeight: 19,
      interval: 0,
    },
  });
  const series = {
    type: 'bar',
    barMaxWidth: 26,
    data: bars.map(({ value, color, text }) => ({
      value,
      itemStyle: { color },
      label: { show: true, position: 'right', color: 'var(--ink)', formatter: text },
    })),
  };
  const grid = { ...GRID, left: 204, right: 110 };
  const height = Math.max(200, GRID.top + GRID.bottom + 44 * bars.length);
  const xAxis = axis(name, { min: 0, splitNumber: 3 });
  return chart({ grid, xAxis, yAxis: names, series: [series] as never }, height);
}

/** Both ends of a name that is longer than two lines: names of files differ at one of them. */
function ends(name: string): string {
  if (name.length <= NAME_CHARS_MAX) return name;
  const before = Math.floor(NAME_CHARS_MAX / 2);
  return `${name.slice(0, before)}…${name.slice(1 + before - NAME_CHARS_MAX)}`;
}

/** How the numbers beside an axis look. */
export const AXIS_LABEL: Readonly<Record<string, unknown>> = {
  color: 'var(--faint)',
  fontSize: LETTERS,
  hideOverlap: true,
  margin: 12,
};

/** An axis in the page's colours, for numbers unless `more` has another type. */
export function axis(name: string, more: object = {}): object {
  return {
    type: 'value',
    name,
    nameLocation: 'middle',
    nameGap: 42,
    nameTextStyle: { color: 'var(--faint)', fontSize: LETTERS },
    axisLine: { lineStyle: { color: 'var(--line)' } },
    axisLabel: AXIS_LABEL,
    splitLine: { lineStyle: { color: 'var(--line)' } },
    ...more,
  };
}

/** The colour of the configuration with this index, the same in all charts. */
export function colour(at: number): string {
  return COLOURS[at % COLOURS.length] ?? 'var(--ink)';
}

/** The mark of the configuration with this index, for readers who cannot distinguish colours. */
export function symbolOf(at: number): string {
  return ['circle', 'rect', 'triangle', 'diamond'][at % 4] ?? 'circle';
}

/** The style of a curve, with dashes so that it is distinguishable without colours. */
export function lineStyle(at: number): object {
  return { width: 2, color: colour(at), type: ['solid', 'dashed', 'dotted'][at % 3] };
}
