import { z } from 'zod';

const share = z.number().min(0).max(1).default(1);
const milliseconds = z.number().positive();

/** Something that goes wrong with one server until it is told to stop. */
export const faultSchema: z.ZodType<Fault> = z.discriminatedUnion('kind', [
  /** Connections are reset before anything is answered, metrics and health included. */
  z.strictObject({ kind: z.literal('refuse') }),
  /** Requests are taken and never answered, metrics and health included. */
  z.strictObject({ kind: z.literal('hang') }),
  /** Steps take `factor` times as long. */
  z.strictObject({ kind: z.literal('slow'), factor: z.number().positive() }),
  /** The accelerator is stuck: the queue grows and nothing finishes. */
  z.strictObject({ kind: z.literal('stuck') }),
  /** A share of generating requests is answered with `status`. */
  z.strictObject({
    kind: z.literal('error'),
    status: z.int().min(400).max(599).default(503),
    share,
  }),
  /** A share of answers is cut off after so many tokens. */
  z.strictObject({ kind: z.literal('drop'), afterTokens: z.int().nonnegative().default(3), share }),
  /** Half of an answer's body, and then the connection is closed. */
  z.strictObject({ kind: z.literal('truncate'), share }),
  /** Metrics as they were when the fault began. */
  z.strictObject({ kind: z.literal('stale-metrics') }),
  z.strictObject({ kind: z.literal('no-metrics') }),
  z.strictObject({ kind: z.literal('garbage-metrics') }),
  /** All work and the cache are lost at once; while it lasts, connections are reset. */
  z.strictObject({ kind: z.literal('crash') }),
]);

export type Fault =
  | { readonly kind: 'refuse' | 'hang' | 'stuck' | 'crash' }
  | { readonly kind: 'stale-metrics' | 'no-metrics' | 'garbage-metrics' }
  | { readonly kind: 'slow'; readonly factor: number }
  | { readonly kind: 'error'; readonly status: number; readonly share: number }
  | { readonly kind: 'drop'; readonly afterTokens: number; readonly share: number }
  | { readonly kind: 'truncate'; readonly share: number };

export type FaultKind = Fault['kind'];

/** A fault on a schedule, in model time since the pool began. */
export interface TimedFault {
  /** The server's place in the pool, from 0. */
  readonly server: number;
  readonly atMs: number;
  readonly forMs: number;
  readonly fault: Fault;
}

export const timedFaultSchema: z.ZodType<TimedFault> = z.strictObject({
  server: z.int().nonnegative(),
  atMs: z.number().nonnegative(),
  forMs: milliseconds,
  fault: faultSchema,
});
