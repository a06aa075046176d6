import { type EChartsOption, init } from 'echarts';

export interface ChartSize {
  readonly width: number;
  readonly height: number;
}

/** Okabe and Ito's colours, told apart by all kinds of eyes; the page gives them for light and for dark. */
const COLOURS: readonly string[] = Array.from({ length: 8 }, (_, at) => `var(--c${at})`);

/** Charts are laid out for letters that a phone, which shrinks them by a third, still shows; where there is room the page's style makes them smaller. */
export const LETTERS = 17;

/** Sizes of most charts; small, so that a phone need not shrink their letters much. */
export const FIGURE: ChartSize = { width: 540, height: 320 };
export const GRID: Readonly<Record<'left' | 'right' | 'top' | 'bottom', number>> = {
  left: 76,
  right: 28,
  top: 24,
  bottom: 68,
};

/** A chart as SVG that takes its colours from the page's style, and its width from the page. */
export function chart(option: EChartsOption, { width, height }: ChartSize): string {
  const instance = init(null, null, { renderer: 'svg', ssr: true, width, height });
  const ink = { color: 'var(--ink)', fontFamily: 'system-ui, sans-serif', fontSize: LETTERS };
  instance.setOption({ animation: false, textStyle: ink, color: [...COLOURS], ...option });
  const svg = instance.renderToSVGString({ useViewBox: true });
  instance.dispose();
  // The page is as wide as it is; a chart keeps its proportions.
  return svg.replace(/^<svg width="\d+" height="\d+"/, '<svg width="100%"');
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

/** The same for the same place everywhere. */
export function colour(at: number): string {
  return COLOURS[at % COLOURS.length] ?? 'var(--ink)';
}

/** Of a curve: lines are told apart without their colours, too. */
export function lineStyle(at: number): {
  readonly width: number;
  readonly color: string;
  readonly type: 'solid' | 'dashed' | 'dotted';
} {
  return { width: 2, color: colour(at), type: dashOf(at) };
}

function dashOf(at: number): 'solid' | 'dashed' | 'dotted' {
  return (['solid', 'dashed', 'dotted'] as const)[at % 3] ?? 'solid';
}
