import { z } from 'zod';
import type { Outcome } from '../../../framework/observer.ts';
import type { CaptureRecord } from '../../../journal/capture/capture-record.ts';
import { TOKENS_MAX } from '../trace-format.ts';

/** The sizes of a captured request. */
export interface CapturedSizes {
  readonly model: string;
  readonly streaming: boolean;
  readonly outputTokensMax?: number | null | undefined;
  readonly promptTokens: number;
  readonly blockTokens: number;
  /** First and count of consecutive numbers. */
  readonly blocks: readonly (readonly [number, number])[];
}

/** Of a capture's records what a trace is made of. */
export type CaptureTold =
  | { readonly e: 'capture'; readonly t: number; readonly wallMs: number; readonly file: number }
  | (Told<'q'> & { readonly r: CapturedSizes; readonly d: { readonly error?: string | undefined } })
  | (Told<'body'> & { readonly r: CapturedSizes })
  | Told<'first'>
  | (Told<'done'> & {
      readonly o: Outcome;
      readonly u?: readonly [prompt: number, completion: number, cached: number | null] | undefined;
      readonly bytes?: number | undefined;
    });

interface Told<E extends string> {
  readonly e: E;
  readonly t: number;
  readonly n: number;
}

const captured: z.ZodType<CapturedSizes> = z.object({
  model: z.string(),
  streaming: z.boolean(),
  outputTokensMax: z.number().nonnegative().nullish(),
  promptTokens: z.number().nonnegative().max(TOKENS_MAX),
  blockTokens: z.int().positive(),
  blocks: z.array(z.tuple([z.int().nonnegative(), z.int().positive().max(TOKENS_MAX)])),
});
const at = { t: z.number(), n: z.int().nonnegative() };
const counted = z.number().nonnegative().max(TOKENS_MAX);
const record: z.ZodType<CaptureTold> = z.discriminatedUnion('e', [
  z.object({ e: z.literal('capture'), t: z.number(), wallMs: z.number(), file: z.int() }),
  z.object({
    e: z.literal('q'),
    ...at,
    r: captured,
    d: z.object({ error: z.string().optional() }),
  }),
  z.object({ e: z.literal('body'), ...at, r: captured }),
  z.object({ e: z.literal('first'), ...at }),
  z.object({
    e: z.literal('done'),
    ...at,
    o: z.enum(['completed', 'aborted', 'failed']),
    u: z.tuple([counted, counted, counted.nullable()]).optional(),
    bytes: z.number().nonnegative().optional(),
  }),
]);
const TOLD: ReadonlySet<string> = new Set(['capture', 'q', 'body', 'first', 'done']);

/** The record, checked; nothing for one of which no trace is made, and a string for what is wrong with it. */
export function toldBy(raw: CaptureRecord): CaptureTold | string | undefined {
  if (!TOLD.has(raw.e)) return undefined;
  const parsed = record.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return `${raw.e}.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'no record'}`;
}
