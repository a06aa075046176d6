import { z } from 'zod';

/** The name of the plugin that provides a fact; without one, or with an empty one, the default. */
export function producerName(byDefault: string): z.ZodType<string, string | undefined> {
  return z
    .string()
    .default(byDefault)
    .transform((name) => name || byDefault);
}

/**
 * The name of the plugin that provides a fact, where the picker has this fact from one place only:
 * read as the reference reads it, without effect.
 */
export const otherProducer: z.ZodOptional<z.ZodString> = z.string().optional();
