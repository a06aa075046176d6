import { expect, it } from 'vitest';

interface Options {
  readonly scales: {
    readonly x: {
      range(plot: unknown, min: number | null, max: number | null): readonly [number, number];
    };
  };
}

/** The page's own files are checked as JavaScript, apart from the rest. */
const file = new URL('../../ui/chart-options.js', import.meta.url).href;
const { optionsFor } = (await import(file)) as {
  optionsFor(lines: readonly unknown[], format: () => string, chart: object): Options;
};

it('[O477] a chart without values shows the last minute, and one with few of them a minute', () => {
  const { x } = optionsFor([], String, {}).scales;
  const before = Date.now() / 1000;
  const [from, to] = x.range(undefined, null, null);
  expect(to).toBeGreaterThanOrEqual(before);
  expect(to - from).toBeCloseTo(60, 6);
  expect(x.range(undefined, 1000, 1002)).toEqual([942, 1002]);
  expect(x.range(undefined, 1000, 1300)).toEqual([1000, 1300]);
});
