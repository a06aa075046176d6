/**
 * Where another process of the picker has begun: lines of a chart stop there, and a mark says so.
 *
 * @import uPlot from 'uplot'
 */

/**
 * The values of a line of a chart by process of the picker: the places of those that are not null,
 * for each process that has any.
 * @param {ArrayLike<number>} times
 * @param {ArrayLike<number | null | undefined>} values
 * @param {readonly number[]} begun a process has the values from after this time on
 * @returns {number[][]}
 */
export function stretches(times, values, begun) {
  /** @type {Map<number, number[]>} */
  const found = new Map();
  for (const [at, time] of Array.from(times).entries()) {
    if (values[at] === null || values[at] === undefined) continue;
    const process = begun.filter((each) => each < time).length;
    const places = found.get(process);
    if (places === undefined) found.set(process, [at]);
    else places.push(at);
  }
  return [...found.values()];
}

/**
 * The places of the values that are the only ones of a process: no line is drawn for them.
 * @param {uPlot} plot
 * @param {number} series
 * @param {readonly number[]} begun
 */
export function onlyValues({ data: [times, ...lines] }, series, begun) {
  return stretches(times, lines[series - 1] ?? [], begun)
    .filter(({ length }) => length === 1)
    .flat();
}

/**
 * From the last value of one process to the first of the next, in pixels. Steps without a value are
 * no gap.
 * @param {uPlot} plot
 * @param {number} series
 * @param {readonly number[]} begun
 * @returns {uPlot.Series.Gaps}
 */
export function gapsOf(plot, series, begun) {
  const [times, ...lines] = plot.data;
  const pixel = (/** @type {number | undefined} */ at) =>
    Math.round(plot.valToPos(times[at ?? 0] ?? 0, 'x', true));
  const found = stretches(times, lines[series - 1] ?? [], begun);
  return found.slice(1).map((next, at) => [pixel(found[at]?.at(-1)), pixel(next[0])]);
}

/**
 * A line where a process of the picker has begun.
 * @param {uPlot} plot
 * @param {readonly number[]} restarts
 * @param {string} colour
 */
export function drawMarks(plot, restarts, colour) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textBaseline = 'top';
  for (const restart of restarts) {
    const x = plot.valToPos(restart, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const isLeft = x < bbox.left + bbox.width / 2;
    ctx.textAlign = isLeft ? 'left' : 'right';
    ctx.fillText('picker started', x + (isLeft ? 4 : -4) * devicePixelRatio, bbox.top);
  }
  ctx.restore();
}
