import { z } from 'zod';
import type { Millis } from '../../framework/runtime.ts';

const NANOSECOND_MS: Millis = 1e-6;
const UNIT_MS: Readonly<Record<string, Millis>> = {
  ns: NANOSECOND_MS,
  us: 1e-3,
  // The micro sign and the Greek letter, both of which Go reads.
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

const MESSAGE = 'must be a duration such as 250ms, 5s or 1m30s, or a number of nanoseconds';

/** A duration in Go's notation: `5s`, `1m30s` or `250ms`, `0`, or a number of nanoseconds. */
export const duration: z.ZodType<Millis> = z
  .union([z.string(), z.number().nonnegative()], MESSAGE)
  .transform((given, context) => {
    if (typeof given === 'number') return given * NANOSECOND_MS;
    if (given === '0') return 0;
    if (!/^\+?(?:(?:\d+\.?\d*|\.\d+)(?:ms|us|µs|μs|ns|h|m|s))+$/.test(given)) {
      context.addIssue({ code: 'custom', message: MESSAGE });
      return z.NEVER;
    }
    let sum = 0;
    for (const [, count = '', unit = ''] of given.matchAll(/(\d+\.?\d*|\.\d+)([a-zµμ]+)/g)) {
      sum += Number(count) * (UNIT_MS[unit] ?? 0);
    }
    return sum;
  });
