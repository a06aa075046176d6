import { z } from 'zod';
import type { Millis } from '../../framework/runtime.ts';
import { goDuration, goNanoseconds } from '../../framework/values/go-duration.ts';

const MESSAGE =
  'must be a duration such as 250ms, 5s or 1m30s, or a whole number of nanoseconds, of at most 292 years';

function readDuration(given: string | number, context: z.RefinementCtx): Millis {
  const millis = typeof given === 'number' ? goNanoseconds(given) : goDuration(given);
  if (millis !== undefined) return millis;
  context.addIssue({ code: 'custom', message: MESSAGE });
  return z.NEVER;
}

/** A duration in Go's notation: `5s`, `1m30s` or `250ms`, `0`, or a number of nanoseconds. */
export const duration: z.ZodType<Millis> = z.lazy(() =>
  z.union([z.string(), z.number().nonnegative()], MESSAGE).transform(readDuration),
);

/** A duration as a text only: Kubernetes' type of durations reads no number. */
export const textDuration: z.ZodType<Millis> = z.lazy(() =>
  z.string('must be a duration with its unit, such as 250ms, 5s or 1m30s').transform(readDuration),
);
