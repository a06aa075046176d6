import { z } from 'zod';

const share = z.number().min(0).max(1).default(1);

/** A fault of one server, which lasts until it is ended. */
export type Fault =
  /**
   * `refuse`: resets connections; `hang`: does not answer; both also for metrics and health.
   * `stuck`: the accelerator hangs. `crash`: all requests and the cache are lost; then as `refuse`.
   */
  | { readonly kind: 'refuse' | 'hang' | 'stuck' | 'crash' }
  /** Each POST is answered at once with 200 and no body. */
  | { readonly kind: 'empty' }
  /** `stale-metrics`: the page of metrics stays as it was when the fault began. */
  | { readonly kind: 'stale-metrics' | 'no-metrics' | 'garbage-metrics' }
  /** Steps take `factor` times as long. */
  | { readonly kind: 'slow'; readonly factor: number }
  /** A share of generating requests is answered with `status`. */
  | { readonly kind: 'error'; readonly status: number; readonly share: number }
  /** A share of streamed answers is cut off after so many tokens. */
  | { readonly kind: 'drop'; readonly afterTokens: number; readonly share: number }
  /** A share of whole answers is cut off in the middle of the body. */
  | { readonly kind: 'truncate'; readonly share: number };

export type FaultKind = Fault['kind'];

const FAULT_KINDS: Readonly<Record<FaultKind, true>> = {
  refuse: true,
  hang: true,
  stuck: true,
  crash: true,
  empty: true,
  'stale-metrics': true,
  'no-metrics': true,
  'garbage-metrics': true,
  slow: true,
  error: true,
  drop: true,
  truncate: true,
};
const ONE_OF = `must be one of ${Object.keys(FAULT_KINDS).join(', ')}`;

/** Throws an Error for a name that no kind has. */
export function faultKind(name: string): FaultKind {
  if (Object.hasOwn(FAULT_KINDS, name)) return name as FaultKind;
  throw new Error(`kind: ${ONE_OF}`);
}

export const faultSchema: z.ZodType<Fault> = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({ kind: z.enum(['refuse', 'hang', 'empty']) }),
    z.strictObject({ kind: z.literal('slow'), factor: z.number().positive() }),
    z.strictObject({ kind: z.literal('stuck') }),
    z.strictObject({
      kind: z.literal('error'),
      status: z.int().min(400).max(599).default(503),
      share,
    }),
    z.strictObject({
      kind: z.literal('drop'),
      afterTokens: z.int().nonnegative().default(3),
      share,
    }),
    z.strictObject({ kind: z.literal('truncate'), share }),
    z.strictObject({ kind: z.enum(['stale-metrics', 'no-metrics', 'garbage-metrics', 'crash']) }),
  ],
  { error: ({ code }) => (code === 'invalid_union' ? ONE_OF : undefined) },
);

/** A fault on a schedule, in model time since the start of the pool. */
export interface TimedFault {
  /** Index of the server in the pool, from 0. */
  readonly server: number;
  readonly atMs: number;
  readonly forMs: number;
  readonly fault: Fault;
}

export const timedFaultSchema: z.ZodType<TimedFault> = z.strictObject({
  server: z.int().nonnegative(),
  atMs: z.number().nonnegative(),
  forMs: z.number().positive(),
  fault: faultSchema,
});
