import type { FollowedHead } from '../../framework/following.ts';
import { parseTraceparent, type RequestTrace } from '../requests/trace-context.ts';
import type { TraceIds } from './trace-ids.ts';

/** Which traces are written. */
export interface Sampling {
  /** The decision of the caller counts, where there is one. */
  readonly byParent: boolean;
  /** Decides where no caller does. */
  samples(traceId: string): boolean;
}

/**
 * Begins the trace of a request: the call of the proxy is its parent where the proxy traces,
 * otherwise what the client's headers name, otherwise it is a root.
 */
export function beginTrace(
  { headers }: Pick<FollowedHead, 'headers'>,
  proxy: string | undefined,
  {
    ids,
    sampling,
  }: { readonly ids: Pick<TraceIds, 'traceId' | 'spanId'>; readonly sampling: Sampling },
): RequestTrace {
  const parent = parseTraceparent(proxy) ?? parseTraceparent(headers.get('traceparent'));
  const traceId = parent?.traceId ?? ids.traceId();
  const decided = sampling.byParent ? parent?.sampled : undefined;
  return {
    traceId,
    spanId: ids.spanId(),
    parent,
    sampled: decided ?? sampling.samples(traceId),
    traceState: parent === undefined ? undefined : headers.get('tracestate'),
  };
}
