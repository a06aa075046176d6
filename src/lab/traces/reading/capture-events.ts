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
  /** Runs of consecutive block numbers. */
  readonly blocks: readonly (readonly [first: number, count: number])[];
}

/** The records of a capture that a trace needs. `t` is in milliseconds of the run's clock. */
export type CaptureEvent =
  | { readonly e: 'capture'; readonly t: number; readonly wallMs: number; readonly file: number }
  | (EventOf<'q'> & {
      readonly r: CapturedSizes;
      readonly d: { readonly error?: string | undefined };
    })
  | (EventOf<'body'> & { readonly r: CapturedSizes })
  | EventOf<'first'>
  | (EventOf<'done'> & {
      readonly o: Outcome;
      readonly u?: readonly [prompt: number, completion: number, cached: number | null] | undefined;
      readonly bytes?: number | undefined;
    });

interface EventOf<E extends string> {
  readonly e: E;
  readonly t: number;
  /** Number of the request. */
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
const record: z.ZodType<CaptureEvent> = z.discriminatedUnion('e', [
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
const NEEDED: ReadonlySet<string> = new Set(['capture', 'q', 'body', 'first', 'done']);

/** Checks a record. Undefined for one that a trace does not need; a string is an error message. */
export function parseCaptureEvent(raw: CaptureRecord): CaptureEvent | string | undefined {
  if (!NEEDED.has(raw.e)) return undefined;
  const parsed = record.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return `${raw.e}.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not a record'}`;
}
