import { z } from 'zod';

/** A whole number that, at zero or below, is read as if it were not there, as the reference does. */
export const positiveOr = (usual: number): z.ZodType<number> =>
  z
    .int()
    .default(usual)
    .transform((value) => (value > 0 ? value : usual));
