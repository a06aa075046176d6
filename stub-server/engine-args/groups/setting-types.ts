import { z } from 'zod';
import { durationMs, goBoolean, shortNumber } from '../../go-values/flag-values.ts';

/** How each setting of a group is checked. */
export type SettingTypes<G> = { readonly [K in keyof G]-?: z.ZodType<Exclude<G[K], undefined>> };

export const number: z.ZodType<number> = z.preprocess(shortNumber, z.number('is not a number'));
export const count: z.ZodType<number> = z.preprocess(
  shortNumber,
  z.int('is not a whole number').positive(),
);
export const text: z.ZodType<string> = z.preprocess((value) => String(value), z.string());
export const flag: z.ZodType<boolean> = z.preprocess(
  (value) => goBoolean(value) ?? value,
  z.boolean('is not true or false'),
);
/** In milliseconds. A bare number is in milliseconds, too: an old form of llm-d-inference-sim. */
export const duration: z.ZodType<number> = z.preprocess(
  (value) => durationMs(value, 1) ?? value,
  z.number('is no duration, such as 250ms or 1.5s').nonnegative(),
);

/** A list, or one value as a list of one. */
export function listOf<T>(type: z.ZodType<T>): z.ZodType<T[]> {
  return z.preprocess((value) => (Array.isArray(value) ? value : [value]), z.array(type));
}

/** A value, or its JSON. */
export function json<T>(type: z.ZodType<T>): z.ZodType<T> {
  return z.preprocess(parsedJson, type);
}

/** The value of a text that is JSON; anything else as it is. */
export function parsedJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
