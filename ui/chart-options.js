/**
 * How charts look: axes, lines and marks.
 *
 * @import uPlot from 'uplot'
 * @import { Begun, Line } from './charts.js'
 */
import { drawMarks, gapsOf, onlyValues } from './restarts.js';

export const CHART_HEIGHT = 180;
/** A picker that has just started shows so much time at least. */
const SPAN_SECONDS_MIN = 60;
/** Seconds between two times below a chart. */
const TIME_STEPS = [10, 30, 60, 120, 300, 600];

/**
 * @param {Line[]} lines
 * @param {(value: number) => string} format
 * @param {{ setCursor: (at: number | null) => void, begun: () => Begun }} chart
 * @returns {Omit<uPlot.Options, 'width'>}
 */
export function optionsFor(lines, format, { setCursor, begun }) {
  const muted = () => colourOf('--muted');
  const grid = { stroke: () => colourOf('--line'), width: 1 };
  const ticks = { show: false };
  const font = '12px system-ui, sans-serif';
  return {
    height: CHART_HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    hooks: {
      setCursor: [({ cursor }) => setCursor(cursor.idx ?? null)],
      draw: [(plot) => drawMarks(plot, begun().at, muted())],
    },
    scales: {
      x: { range: (_plot, min, max) => timesShown(min, max) },
      y: { range: (_plot, _min, max) => [0, max > 0 ? 1.1 * max : 1] },
    },
    axes: [
      {
        stroke: muted,
        grid: { show: false },
        ticks,
        font,
        values: TIMES,
        space: 80,
        size: 26,
        incrs: TIME_STEPS,
      },
      {
        stroke: muted,
        grid,
        ticks,
        font,
        size: 58,
        values: (_plot, values) => values.map((value) => format(value)),
        space: 36,
      },
    ],
    series: [{}, ...lines.map((line) => seriesOf(line, begun))],
  };
}

/**
 * The times from which and to which a chart shows something, in seconds. Without values it is the
 * last minute.
 *
 * @param {number | null} min
 * @param {number | null} max
 * @returns {[number, number]}
 */
function timesShown(min, max) {
  const end = max ?? Date.now() / 1000;
  return [Math.min(min ?? end, end - SPAN_SECONDS_MIN), end];
}

/**
 * @param {Line} line
 * @param {() => Begun} begun
 * @returns {uPlot.Series}
 */
function seriesOf({ label, colour, dashed }, begun) {
  return {
    label,
    stroke: () => colourOf(colour),
    width: 1.75,
    gaps: (plot, series) => gapsOf(plot, series, begun().steps),
    points: {
      size: 5,
      filter: (plot, series) => onlyValues(plot, series, begun().steps),
      fill: () => colourOf(colour),
    },
    ...(dashed && { dash: [5, 4] }),
  };
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const CLOCK_SECONDS = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/** Half of the width of a time: more to the left it would touch the figures beside the chart. */
const TIME_PX = 28;

/** @type {(plot: uPlot, values: number[]) => string[]} */
function TIMES(plot, values) {
  const isFine = values.length > 1 && (values[1] ?? 0) - (values[0] ?? 0) < 60;
  const clockFormat = isFine ? CLOCK_SECONDS : CLOCK;
  return values.map((value) =>
    plot.valToPos(value, 'x') < TIME_PX ? '' : clockFormat.format(1000 * value),
  );
}

/** A colour of the style sheet, which differs between light and dark. @param {string} name */
function colourOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}
