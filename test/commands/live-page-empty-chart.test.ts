import { expect, it, vi } from 'vitest';

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
  vi.useFakeTimers({ now: 1_796_000_000_000 });
  const { x } = optionsFor([], String, {}).scales;
  expect(x.range(undefined, null, null)).toEqual([1_795_999_940, 1_796_000_000]);
  expect(x.range(undefined, 1000, 1002)).toEqual([942, 1002]);
  expect(x.range(undefined, 1000, 1300)).toEqual([1000, 1300]);
  vi.useRealTimers();
});
