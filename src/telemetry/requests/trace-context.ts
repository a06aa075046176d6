/** The trace that a request belongs to, as W3C Trace Context has it. Ids are hexadecimal. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

/** What a request's spans have in common. */
export interface RequestTrace {
  readonly traceId: string;
  /** The span of the whole request. Its id goes to the model server. */
  readonly spanId: string;
  readonly parent: TraceContext | undefined;
  /** Whether its spans are written in any case, and not only where it fails. */
  readonly sampled: boolean;
  readonly traceState: string | undefined;
}

const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;

/** Undefined for a header that W3C Trace Context says to ignore. */
export function parseTraceparent(header: string | undefined): TraceContext | undefined {
  if (header === undefined) return undefined;
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(header) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  // Only later versions may have more fields.
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags ?? '0', 16) & SAMPLED) !== 0 };
}

/** The value of a `traceparent` header, in version 00. */
export function traceparentOf({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}
