import type { Millis } from '../../framework/runtime.ts';
import { isoTime } from '../../runtime/clock/iso-time.ts';
import { modelOf, type RequestRecord, requestIdOf, statusOf } from './request-record.ts';

/** Longer texts of clients are cut. */
const TEXT_MAX = 256;

/**
 * One line of the access log, as JSON. Times are in milliseconds; what is not known is left out.
 */
export function accessLine(record: RequestRecord, endedAtEpochMs: Millis): string {
  const { routed, trace, beganAt, readAt, decidedAt, firstTokenAt, endedAt, usage } = record;
  const { request, error, outcome, decidedBy, servedBy, responseBytes, passedTo } = record;
  const endpoint = routed?.endpoint ?? passedTo;
  const since = (from: Millis | undefined, to: Millis | undefined): number | undefined =>
    from === undefined || to === undefined ? undefined : rounded(to - from);
  return JSON.stringify({
    time: isoTime(endedAtEpochMs),
    requestId: requestIdOf(record).slice(0, TEXT_MAX),
    traceId: trace?.sampled === true ? trace.traceId : undefined,
    model: modelOf(record).slice(0, TEXT_MAX),
    endpoint: endpoint?.id,
    address: servedBy ?? endpoint?.address,
    status: statusOf(record),
    outcome: error?.code ?? outcome,
    promptTokens: usage?.promptTokens ?? request?.promptTokens,
    cachedTokens: usage?.cachedTokens,
    outputTokens: usage?.completionTokens,
    requestBytes: request?.bodyBytes,
    responseBytes,
    // All that came before the decision: `preparedMs`, `heldMs` of `Routed`, and the decision
    // itself.
    waitedMs: since(readAt, decidedAt),
    ttftMs: since(readAt ?? beganAt, firstTokenAt),
    durationMs: since(beganAt, endedAt),
    priority: request?.priority,
    fairnessId: request?.fairnessId.slice(0, TEXT_MAX),
    decidedBy,
  });
}

function rounded(ms: Millis): Millis {
  return Math.round(ms * 1000) / 1000;
}
