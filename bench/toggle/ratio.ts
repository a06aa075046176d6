import { sorted, sum } from '../../src/lab/run-summary/statistics.ts';

/**
 * Four segments: without, with, with, without, so that a machine that gets slower harms both alike.
 */
export interface Block {
  /** CPU ms of a request. */
  readonly without: readonly number[];
  readonly with: readonly number[];
}

/** With the feature over without it. */
export interface Ratio {
  readonly median: number;
  /** The 95 % interval of the median. */
  readonly low: number;
  readonly high: number;
  readonly blocks: number;
}

/** 95 % of a normal distribution are within so many standard deviations of its mean. */
const DEVIATIONS = 1.96;

/** The median of the blocks' ratios. */
export function ratioOf(blocks: readonly Block[]): Ratio {
  const ratios = blocks.map((block) => sum(block.with) / sum(block.without));
  return { ...medianOf(ratios), blocks: blocks.length };
}

/**
 * The median and its 95 % interval. How many of n values are below the median is binomial, with the
 * deviation √n / 2: the interval goes from the value of that rank below it to the one above.
 */
export function medianOf(values: readonly number[]): Omit<Ratio, 'blocks'> {
  const ordered = sorted(values);
  const { length } = ordered;
  const away = (DEVIATIONS * Math.sqrt(length)) / 2;
  const at = (rank: number): number =>
    ordered[Math.min(length - 1, Math.max(0, rank))] ?? Number.NaN;
  return {
    median: (at(Math.floor((length - 1) / 2)) + at(Math.ceil((length - 1) / 2))) / 2,
    low: at(Math.floor(length / 2 - away)),
    high: at(Math.ceil(length / 2 + away) - 1),
  };
}
