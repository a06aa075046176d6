import { z } from 'zod';
import { issueText } from '../../files/reading/zod-issues.ts';
import { TOKENS_MAX } from './trace-format.ts';

/** A number of tokens of a prompt. */
export const promptTokens: z.ZodType<number> = z.number().max(TOKENS_MAX).int().positive();
/** A number of tokens of an answer; 0 is read as 1, because model servers produce at least one. */
export const outputTokens: z.ZodType<number> = z
  .number()
  // First, because the bound of whole numbers says nothing to a user.
  .max(TOKENS_MAX)
  .int()
  .nonnegative()
  .transform((tokens) => Math.max(1, tokens));
/** A duration, or a time that counts from the start of the trace. */
export const nonNegative: z.ZodType<number> = z.number().nonnegative();

/** The id of a trace or a span; anything else in its place counts as none. */
export const spanId: z.ZodType<string | undefined> = z
  .string()
  .max(64)
  .optional()
  .catch(() => undefined);

/** The value's characters that an error message contains at most. */
const EXCERPT_CHARS = 60;

/** A text in quotes, or what Python writes for numbers that JSON has not. */
const NO_NUMBER = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g;

/** The value of a JSON text, with null for NaN and Infinity; undefined where it is none. */
export function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (!/NaN|Infinity/.test(text)) return undefined;
  }
  try {
    return JSON.parse(text.replace(NO_NUMBER, (each) => (each.startsWith('"') ? each : 'null')));
  } catch {
    return undefined;
  }
}

/** Parses JSON of this schema. A string is an error message that names the field and its value. */
export function parseJson<T>(text: string, schema: z.ZodType<T>): T | string {
  const raw = jsonValue(text);
  if (raw === undefined) return `not JSON: ${JSON.stringify(text.slice(0, EXCERPT_CHARS))}`;
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  if (issue === undefined) return 'is not a request';
  const { path } = issue;
  if (path.length === 0) return issueText(issue);
  const value = path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)?.[key], raw);
  const excerpt = JSON.stringify(value)?.slice(0, EXCERPT_CHARS);
  const name = path.join('.');
  return excerpt === undefined
    ? `${name} is missing`
    : `${name} is ${excerpt}: ${issueText(issue)}`;
}

/**
 * Hashes have up to 64 bits. A number of JavaScript keeps the upper 53 of them, so a large hash is
 * divided by this: the quotient has 52 bits, and is exact.
 */
const DROPPED = 2 ** 12;

/** A hash of more than 53 bits has lost its lowest bits already when JSON was read. */
export function exactId(hash: number): number {
  return Number.isSafeInteger(hash) ? hash : Math.floor(hash / DROPPED);
}
