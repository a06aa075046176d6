import { z } from 'zod';
import { TOKENS_MAX } from './trace-format.ts';

/** A number of tokens of a prompt. */
export const promptTokens: z.ZodType<number> = z.int().positive().max(TOKENS_MAX);
/** A number of tokens of an answer; model servers give at least one. */
export const outputTokens: z.ZodType<number> = z
  .int()
  .nonnegative()
  .max(TOKENS_MAX)
  .transform((tokens) => Math.max(1, tokens));
/** A duration or a time that cannot be before its zero. */
export const nonNegative: z.ZodType<number> = z.number().nonnegative();

/** The text as JSON of this shape, or a sentence about what is wrong with it. */
export function parseJson<T>(text: string, schema: z.ZodType<T>): T | string {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return 'not JSON';
  }
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not a request'}`;
}
