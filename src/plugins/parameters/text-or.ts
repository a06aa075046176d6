import { z } from 'zod';

/** A text that, where it is empty, is not given. */
export const textOr = (usual: string): z.ZodType<string> =>
  z
    .string()
    .default(usual)
    .transform((given) => given || usual);
