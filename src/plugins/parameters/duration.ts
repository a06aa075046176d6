import { z } from 'zod';
import { goDuration } from '../../framework/go-duration.ts';
import type { Millis } from '../../framework/runtime.ts';

const NANOSECOND_MS: Millis = 1e-6;
const MESSAGE = 'must be a duration such as 250ms, 5s or 1m30s, or a number of nanoseconds';

/** A duration in Go's notation: `5s`, `1m30s` or `250ms`, `0`, or a number of nanoseconds. */
export const duration: z.ZodType<Millis> = z.lazy(() =>
  z.union([z.string(), z.number().nonnegative()], MESSAGE).transform((given, context) => {
    const millis = typeof given === 'number' ? given * NANOSECOND_MS : goDuration(given);
    if (millis !== undefined) return millis;
    context.addIssue({ code: 'custom', message: MESSAGE });
    return z.NEVER;
  }),
);
