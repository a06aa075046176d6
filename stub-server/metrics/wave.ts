import { z } from 'zod';
import type { Millis } from '../../src/framework/runtime.ts';
import { durationMs } from '../go-values/flag-values.ts';

const SHAPES = ['oscillate', 'ramp', 'rampreset', 'squarewave'] as const;

/** A value that changes with time, or a constant. */
export type Wave =
  | number
  | {
      /** `oscillate`: a sine; `ramp`: a line, then constant; `rampreset`: lines; `squarewave`. */
      readonly shape: (typeof SHAPES)[number];
      readonly start: number;
      readonly end: number;
      readonly periodMs: Millis;
    };

/** A number, or `shape:start:end:period` such as `oscillate:0:10:5s`. */
export const waveSchema: z.ZodType<Wave> = z.preprocess(
  waveIn,
  z.union(
    [
      z.number().nonnegative(),
      z.strictObject({
        shape: z.enum(SHAPES),
        start: z.number().nonnegative(),
        end: z.number().nonnegative(),
        periodMs: z.number().positive(),
      }),
    ],
    `is neither a number nor ${SHAPES.join('|')}:start:end:period`,
  ),
);

/** The value `sinceMs` after the start. */
export function valueAt(wave: Wave, sinceMs: Millis): number {
  if (typeof wave === 'number') return wave;
  const { shape, start, end, periodMs } = wave;
  const periods = sinceMs / periodMs;
  const phase = periods % 1;
  const between = (share: number): number => start + (end - start) * share;
  switch (shape) {
    case 'oscillate':
      return between((1 - Math.cos(2 * Math.PI * phase)) / 2);
    case 'ramp':
      return between(Math.min(1, periods));
    case 'rampreset':
      return between(phase);
    case 'squarewave':
      return phase < 0.5 ? start : end;
  }
}

function waveIn(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const [shape, start, end, period] = value.split(':');
  if (period === undefined) return Number(value);
  return {
    shape,
    start: Number(start),
    end: Number(end),
    periodMs: durationMs(period, Number.NaN) ?? Number.NaN,
  };
}
