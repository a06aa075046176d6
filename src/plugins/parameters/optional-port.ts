import { z } from 'zod';

/** A port that may be left out. 0 is Go's value for a missing one. */
export const optionalPort: z.ZodType<number | undefined> = z.lazy(() =>
  z
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .transform((port) => port || undefined),
);
