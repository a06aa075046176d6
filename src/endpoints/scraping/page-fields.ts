import { z } from 'zod';
import type { Millis } from '../../framework/runtime.ts';
import { duration } from '../../plugins/parameters/duration.ts';

/** As of the metrics source. */
const INTERVAL_MS_MIN = 10;

/**
 * Where each endpoint has a page, as parameters of a data source. A slash at the beginning of the
 * path may be left out, as in the reference.
 */
export function pageFields(
  scheme: 'http' | 'https',
  path: string,
): {
  readonly scheme: z.ZodDefault<z.ZodEnum<{ http: 'http'; https: 'https' }>>;
  readonly path: z.ZodType<string, string | undefined>;
} {
  return {
    scheme: z.enum(['http', 'https']).default(scheme),
    path: z
      .string()
      .default(path)
      .transform((given) => (given.startsWith('/') ? given : `/${given}`)),
  };
}

/**
 * How often a data source polls: a duration, or a number of milliseconds; `usual` where it is empty
 * or missing.
 */
export function pollInterval(usual: Millis): z.ZodType<Millis> {
  const unset = z.literal('').transform(() => usual);
  return z
    .union(
      [z.number(), unset, duration],
      'must be a duration such as 5s, or a number of milliseconds',
    )
    .pipe(z.number().min(INTERVAL_MS_MIN, `must be at least ${INTERVAL_MS_MIN} ms`))
    .default(usual);
}

/**
 * Which of several sources of one type counts where they find the same: that of the lowest order, 0
 * when left out. A plan gives them that of `plugins`.
 */
export const sourceOrder: z.ZodOptional<z.ZodInt> = z.int().min(0).optional();
