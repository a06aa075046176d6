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
import { ChartKeys } from './chart-keys.js';
import { CHART_HEIGHT, optionsFor } from './chart-options.js';
import { clock, duration, rate } from './format.js';

/** @param {{ state: State }} props */
export function RequestsChart({ state: { steps, restarts, picker } }) {
  const seconds = stepSeconds(picker);
  const lines = [
    { label: 'decided', colour: '--series-1', values: steps.map((step) => step.picked / seconds) },
    {
      label: 'after a wait',
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
  const keys = useRef(new ChartKeys()).current;
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
      made.setSize({ width: element.clientWidth, height: CHART_HEIGHT }),
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
  useEffect(() => {
    plot.current?.setData([times, ...lines.map(({ values }) => values)]);
    // After uPlot, which scales its axes in a microtask, too.
    queueMicrotask(() => keys.keep(plot.current));
  }, [times]);
  const last = times.length - 1;
  const at = Math.min(cursor ?? last, last);
  return h(
    'section',
    { class: 'card chart' },
    h('h2', null, title),
    h(Legend, { lines, at, format }),
    h('div', {
      ref: holder,
      class: 'plot',
      'aria-label': [title, ...restarts.map((ms) => `the picker started at ${clock(ms)}`)].join(
        ', ',
      ),
      ...spoken({ times, at, lines, format }),
      onKeyDown: (/** @type {KeyboardEvent} */ event) => keys.press(event, plot.current),
      onBlur: () => keys.leave(plot.current),
      onPointerMove: () => keys.forget(),
    }),
  );
}

/**
 * To keys and screen readers a chart is a slider: keys move along its lines, and the values there are spoken.
 *
 * @param {object} props
 * @param {number[]} props.times
 * @param {number} props.at the index under the cursor
 * @param {Line[]} props.lines
 * @param {(value: number | null | undefined) => string} props.format
 */
function spoken({ times, at, lines, format }) {
  const time = times[at];
  const when = time === undefined ? [] : [clock(1000 * time)];
  const values = lines.map(({ label, values: all }) => `${label} ${format(all[at])}`);
  return {
    role: 'slider',
    tabIndex: 0,
    'aria-valuemin': 0,
    'aria-valuemax': Math.max(0, times.length - 1),
    'aria-valuenow': Math.max(0, at),
    'aria-valuetext': [...when, ...values].join(', '),
  };
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
