import { expect, it } from 'vitest';

interface Press {
  readonly key: string;
  readonly altKey?: boolean;
}
interface Keys {
  press(event: Press, plot: Plot): void;
  keep(plot: Plot): void;
  forget(): void;
}

/** The page's own files are checked as JavaScript, apart from the rest. */
const file = new URL('../../ui/chart-keys.js', import.meta.url).href;
const { ChartKeys } = (await import(file)) as { ChartKeys: new () => Keys };

/** Stands for the chart: a step of time is a pixel wide, and its cursor is at the step below it. */
class Plot {
  readonly cursor: { idx: number | null } = { idx: null };
  data: readonly [readonly number[]];

  constructor(times: readonly number[]) {
    this.data = [times];
  }

  valToPos(time: number): number {
    return time - (this.data[0][0] ?? 0);
  }

  setCursor({ left }: { readonly left: number }): void {
    this.cursor.idx = left < 0 ? null : left;
  }

  get time(): number | undefined {
    return this.cursor.idx === null ? undefined : this.data[0][this.cursor.idx];
  }
}

/** Presses a key; says whether the chart took it, so that neither page nor browser gets it. */
function press(keys: Keys, plot: Plot, event: Press): boolean {
  let stopped = 0;
  const stop = (): void => void stopped++;
  keys.press(Object.assign({ preventDefault: stop, stopPropagation: stop }, event), plot);
  return stopped === 2;
}

const steps = (first: number): number[] => Array.from({ length: 30 }, (_, at) => first + at);

it('[O419] moves along a chart as every slider does, and no further than its ends', () => {
  const plot = new Plot(steps(100));
  const keys = new ChartKeys();
  const moves = [
    ['ArrowLeft', 128],
    ['PageDown', 118],
    ['ArrowUp', 119],
    ['ArrowDown', 118],
    ['Home', 100],
    ['ArrowLeft', 100],
    ['PageUp', 110],
    ['ArrowRight', 111],
    ['End', 129],
    ['PageUp', 129],
  ] as const;
  const times = moves.map(([key]) => {
    expect(press(keys, plot, { key })).toBe(true);
    return [key, plot.time];
  });
  expect(times).toEqual(moves);
});

it('[O419] keeps the time of the keys until it leaves the chart, and goes on from the first one then', () => {
  const plot = new Plot(steps(100));
  const keys = new ChartKeys();
  press(keys, plot, { key: 'Home' });
  press(keys, plot, { key: 'PageUp' });
  for (const [first, time] of [
    [105, 110],
    [110, 110],
    [140, 140],
  ] as const) {
    plot.data = [steps(first)];
    keys.keep(plot);
    expect(plot.time).toBe(time);
  }
  press(keys, plot, { key: 'PageUp' });
  expect(plot.time).toBe(150);
});

it('[O419] goes on from where the pointer is', () => {
  const plot = new Plot(steps(100));
  const keys = new ChartKeys();
  press(keys, plot, { key: 'Home' });
  keys.forget();
  plot.setCursor({ left: 20 });
  press(keys, plot, { key: 'ArrowRight' });
  expect(plot.time).toBe(121);
});

it('[O419] takes Escape once, and leaves the keys of the browser and of the page alone', () => {
  const plot = new Plot(steps(100));
  const keys = new ChartKeys();
  press(keys, plot, { key: 'Home' });
  for (const event of [{ key: 'ArrowLeft', altKey: true }, { key: 'Tab' }, { key: 'p' }]) {
    expect(press(keys, plot, event)).toBe(false);
    expect(plot.time).toBe(100);
  }
  expect(press(keys, plot, { key: 'Escape' })).toBe(true);
  expect(plot.time).toBeUndefined();
  expect(press(keys, plot, { key: 'Escape' })).toBe(false);
  expect(press(keys, new Plot([]), { key: 'Home' })).toBe(false);
});
