/**
 * The keys of a chart: they move its cursor, as a pointer does.
 *
 * @import uPlot from 'uplot'
 */

/** How many steps of time each key moves the cursor, as on every slider: up is later. Home and End go to the ends. */
const MOVES = new Map([
  ['ArrowLeft', -1],
  ['ArrowDown', -1],
  ['ArrowRight', 1],
  ['ArrowUp', 1],
  ['PageDown', -10],
  ['PageUp', 10],
  ['Home', Number.NEGATIVE_INFINITY],
  ['End', Number.POSITIVE_INFINITY],
]);

/** The cursor that keys have set on one chart. It stays at its time while the chart moves on. */
export class ChartKeys {
  /** In seconds; undefined without a cursor of the keys. @type {number | undefined} */
  #time;

  /**
   * @param {KeyboardEvent} event
   * @param {uPlot | null} plot
   */
  press(event, plot) {
    const times = plot?.data[0] ?? [];
    // Together with these, keys are the browser's: Alt and left goes back a page.
    if (plot === null || times.length === 0 || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const move = MOVES.get(event.key);
    if (move !== undefined) {
      const last = times.length - 1;
      const at = plot.cursor.idx ?? last;
      this.#time = times[Math.max(0, Math.min(last, at + move))];
    } else if (event.key === 'Escape' && this.#time !== undefined) this.forget();
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.show(plot);
  }

  /** The pointer is where the cursor is now. */
  forget() {
    this.#time = undefined;
  }

  /** The focus is elsewhere now. @param {uPlot | null} plot */
  leave(plot) {
    if (this.#time === undefined) return;
    this.forget();
    if (plot !== null) this.show(plot);
  }

  /** Puts the cursor of a chart that has changed where it was. @param {uPlot | null} plot */
  keep(plot) {
    if (plot !== null && this.#time !== undefined) this.show(plot);
  }

  /** @param {uPlot} plot */
  show(plot) {
    if (this.#time === undefined) return plot.setCursor({ left: -10, top: -10 });
    const left = plot.valToPos(Math.max(this.#time, plot.data[0][0] ?? 0), 'x');
    plot.setCursor({ left, top: 0 });
  }
}
