import { z } from 'zod';
import type { Millis } from '../../framework/runtime.ts';

const UNIT_MS: Readonly<Record<string, Millis>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** A duration in Go's notation, such as `5s`, `1m30s` or `250ms`, or `0`. */
export const duration: z.ZodType<Millis> = z.string().transform((text, context) => {
  if (text === '0') return 0;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|us|µs|ns|h|m|s))+$/.test(text)) {
    context.addIssue({ code: 'custom', message: 'must be a duration such as 250ms, 5s or 1m30s' });
    return z.NEVER;
  }
  let sum = 0;
  for (const [, count = '', unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)([a-zµ]+)/g)) {
    sum += Number(count) * (UNIT_MS[unit] ?? 0);
  }
  return sum;
});
