/**
 * The charts of the last minutes.
 *
 * @import { State } from './state.js'
 * @typedef {{ at: readonly number[], steps: readonly number[] }} Begun processes of the picker, and their first steps
 * @typedef {{ label: string, colour: string, values: (number | null)[], dashed?: boolean }} Line
 */
import { h } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { clock, duration, rate } from './format.js';
import { drawMarks, gapsOf, onlyValues } from './restarts.js';

const HEIGHT = 180;
/** A picker that has just started shows so much time at least. */
const SPAN_SECONDS_MIN = 60;
/** Seconds between two times below a chart. */
const TIME_STEPS = [10, 30, 60, 120, 300, 600];

/** @param {{ state: State }} props */
export function RequestsChart({ state: { steps, restarts, picker } }) {
  const seconds = stepSeconds(picker);
  const lines = [
    { label: 'decided', colour: '--series-1', values: steps.map((step) => step.picked / seconds) },
    {
      label: 'held before',
      colour: '--series-2',
      values: steps.map((step) => step.held / seconds),
    },
    { label: 'refused', colour: '--series-3', values: steps.map((step) => step.refused / seconds) },
    {
      label: 'failed at servers',
      colour: '--series-3',
      values: steps.map((step) => step.failed / seconds),
      dashed: true,
    },
  ];
  const times = steps.map((step) => step.wallMs / 1000);
  return h(Chart, {
    title: 'Requests each second',
    times,
    seconds,
    restarts,
    lines,
    format: perSecond,
  });
}

/** @param {{ state: State }} props */
export function TtftChart({ state: { steps, restarts, picker } }) {
  const times = steps.map((step) => step.wallMs / 1000);
  const lines = [
    {
      label: 'observed median',
      colour: '--series-1',
      values: steps.map(({ ttftMs }) => ttftMs?.median ?? null),
    },
    {
      label: 'predicted median',
      colour: '--series-2',
      values: steps.map(({ ttftMs }) => ttftMs?.predictedMedian ?? null),
      dashed: true,
    },
    {
      label: 'observed 95th percentile',
      colour: '--series-4',
      values: steps.map(({ ttftMs }) => ttftMs?.p95 ?? null),
    },
  ];
  const seconds = stepSeconds(picker);
  return h(Chart, {
    title: 'Time to first token',
    times,
    seconds,
    restarts,
    lines,
    format: duration,
  });
}

/** @param {State['picker']} picker */
function stepSeconds(picker) {
  return (picker?.stepMs ?? 1000) / 1000;
}

/** @param {number | null | undefined} value */
function perSecond(value) {
  return value === null || value === undefined ? '–' : `${rate(value)}/s`;
}

/**
 * @param {object} props
 * @param {string} props.title
 * @param {number[]} props.times of the beginnings of steps, in seconds
 * @param {number} props.seconds of each step
 * @param {readonly number[]} props.restarts in milliseconds
 * @param {Line[]} props.lines
 * @param {(value: number | null | undefined) => string} props.format
 */
function Chart({ title, times, seconds, restarts, lines, format }) {
  const holder = useRef(/** @type {HTMLDivElement | null} */ (null));
  const plot = useRef(/** @type {uPlot | null} */ (null));
  const begun = useRef(/** @type {Begun} */ ({ at: [], steps: [] }));
  const starts = restarts.map((ms) => ms / 1000);
  // A process begins within its first step.
  begun.current = { at: starts, steps: starts.map((at) => at - seconds) };
  const [cursor, setCursor] = useState(/** @type {number | null} */ (null));
  useEffect(() => {
    const element = /** @type {HTMLDivElement} */ (holder.current);
    const options = optionsFor(lines, format, { setCursor, begun: () => begun.current });
    const made = new uPlot({ ...options, width: element.clientWidth || 300 }, [[]], element);
    plot.current = made;
    const resized = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    resized.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const recolour = () => made.redraw(false, true);
    scheme.addEventListener('change', recolour);
    return () => {
      resized.disconnect();
      scheme.removeEventListener('change', recolour);
      made.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData([times, ...lines.map(({ values }) => values)]), [times]);
  const at = cursor ?? times.length - 1;
  const latest = lines.map(({ label, values }) => `${label} ${format(values[at])}`);
  const marks = restarts.map((ms) => `the picker started at ${clock(ms)}`);
  return h(
    'section',
    { class: 'card chart' },
    h('h2', null, title),
    h(Legend, { lines, at, format }),
    h('div', {
      ref: holder,
      class: 'plot',
      role: 'img',
      'aria-label': `${title}: ${[...latest, ...marks].join(', ')}`,
    }),
  );
}

/**
 * What the lines mean, with the value of each under the cursor.
 *
 * @param {{ lines: Line[], at: number, format: (value: number | null | undefined) => string }} props
 */
function Legend({ lines, at, format }) {
  return h(
    'ul',
    { class: 'legend' },
    lines.map(({ label, colour, values, dashed }) =>
      h(
        'li',
        { key: label },
        h('span', {
          class: `key ${dashed ? 'dashed' : ''}`,
          style: { borderColor: `var(${colour})` },
        }),
        `${label} `,
        h('b', null, format(values[at])),
      ),
    ),
  );
}

/**
 * @param {Line[]} lines
 * @param {(value: number) => string} format
 * @param {{ setCursor: (at: number | null) => void, begun: () => Begun }} chart
 * @returns {Omit<uPlot.Options, 'width'>}
 */
function optionsFor(lines, format, { setCursor, begun }) {
  const muted = () => colourOf('--muted');
  const grid = { stroke: () => colourOf('--line'), width: 1 };
  const ticks = { show: false };
  const font = '12px system-ui, sans-serif';
  return {
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    hooks: {
      setCursor: [({ cursor }) => setCursor(cursor.idx ?? null)],
      draw: [(plot) => drawMarks(plot, begun().at, muted())],
    },
    scales: {
      x: { range: (_plot, min, max) => [Math.min(min, max - SPAN_SECONDS_MIN), max] },
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
