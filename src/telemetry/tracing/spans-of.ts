import type { Attributes, HrTime, SpanStatus } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { Millis } from '../../framework/runtime.ts';
import { hasFailed, type RequestRecord } from '../requests/request-record.ts';
import type { RequestTrace } from '../requests/trace-context.ts';
import { orchestrationAttributes, profileAttributes, requestAttributes } from './attributes.ts';

/** What the spans of all requests have in common. */
export interface SpanMaker {
  readonly resource: ReadableSpan['resource'];
  readonly scope: ReadableSpan['instrumentationScope'];
  readonly newSpanId: () => string;
  /** Milliseconds since the Unix epoch when the picker's clock was 0. */
  readonly originMs: Millis;
  readonly parseTraceState: (text: string) => ReturnType<ReadableSpan['spanContext']>['traceState'];
}

interface Phase {
  readonly name: string;
  readonly from: Millis;
  readonly to: Millis;
  readonly attributes: Attributes;
  readonly status?: SpanStatus;
  readonly kind?: ReadableSpan['kind'];
}

/** Values of OpenTelemetry's enums, which are not loaded without tracing. */
const KIND = { internal: 0, server: 1 } as const;
const STATUS = { unset: 0, error: 2 } as const;
const SAMPLED = 1;
const UNSET: SpanStatus = { code: STATUS.unset };

/**
 * The spans of a request that is over, the span of the whole request last: one for each phase. The
 * reference's names are those of the request, of its orchestration and of profiles.
 */
export function spansOf(
  record: RequestRecord,
  trace: RequestTrace,
  maker: SpanMaker,
): ReadableSpan[] {
  const { beganAt, readAt, decidedAt, firstTokenAt, routed, error } = record;
  const endedAt = record.endedAt ?? beganAt;
  const span = spanFactory(trace, maker);
  const spans: ReadableSpan[] = [];
  const add = (phase: Phase, parent: string): string => {
    const made = span(phase, maker.newSpanId(), parent);
    spans.push(made);
    return made.spanContext().spanId;
  };
  add(phaseOf('read_request', beganAt, readAt ?? endedAt), trace.spanId);
  if (readAt !== undefined) {
    const to = decidedAt ?? endedAt;
    const status = error !== undefined && routed === undefined ? failure(record) : UNSET;
    const attributes = orchestrationAttributes(record);
    const whole = { name: 'gateway.request_orchestration', from: readAt, to, attributes, status };
    const parent = add(whole, trace.spanId);
    for (const phase of decisionPhases(record, readAt)) add(phase, parent);
  }
  if (routed !== undefined && decidedAt !== undefined) {
    if (firstTokenAt !== undefined)
      add(phaseOf('wait_for_first_token', decidedAt, firstTokenAt), trace.spanId);
    add(phaseOf('receive_response', firstTokenAt ?? decidedAt, endedAt), trace.spanId);
  }
  const whole: Phase = {
    name: 'gateway.request',
    kind: KIND.server,
    from: beganAt,
    to: endedAt,
    attributes: requestAttributes(record),
    status: hasFailed(record) ? failure(record) : UNSET,
  };
  spans.push(span(whole, trace.spanId, trace.parent?.spanId));
  return spans;
}

function phaseOf(name: string, from: Millis, to: Millis): Phase {
  return { name, from, to, attributes: {} };
}

/** The wait before the decision, and the profiles, which share the scheduler's time. */
function decisionPhases(record: RequestRecord, readAt: Millis): Phase[] {
  const { decidedAt, scheduleMs, decision, preparedMs, routed } = record;
  if (decidedAt === undefined || scheduleMs === undefined) return [];
  const from = Math.max(readAt, decidedAt - scheduleMs);
  const phases: Phase[] = [];
  const heldMs = routed?.waitedMs ?? 0;
  if (preparedMs > 0 || heldMs > 0 || from - readAt >= WAIT_MS_MIN) {
    const attributes = {
      'pointsman.wait.prepare_ms': preparedMs,
      'pointsman.wait.hold_ms': heldMs,
    };
    phases.push({ name: 'wait_for_endpoint', from: readAt, to: from, attributes });
  }
  for (const result of decision?.decision?.profiles ?? []) {
    const attributes = profileAttributes(result, decision?.candidates.length ?? 0);
    phases.push({ name: 'run_scheduler_profile', from, to: decidedAt, attributes });
  }
  return phases;
}

/** Less is the time of the code between reading and deciding, and no wait. */
const WAIT_MS_MIN = 1;

function failure({ error, status }: RequestRecord): SpanStatus {
  return { code: STATUS.error, message: error?.message ?? `the model server answered ${status}` };
}

function spanFactory(
  trace: RequestTrace,
  { resource, scope, originMs, parseTraceState }: SpanMaker,
): (phase: Phase, spanId: string, parent: string | undefined) => ReadableSpan {
  const { traceId } = trace;
  const traceState = trace.traceState === undefined ? undefined : parseTraceState(trace.traceState);
  const shared = { traceId, traceFlags: SAMPLED, ...(traceState && { traceState }) };
  return ({ name, kind = KIND.internal, from, to, attributes, status = UNSET }, spanId, parent) => {
    const context = { ...shared, spanId };
    const ended = Math.max(from, to);
    return {
      name,
      kind,
      spanContext: () => context,
      ...(parent !== undefined && {
        parentSpanContext: { traceId, spanId: parent, traceFlags: SAMPLED },
      }),
      startTime: hrTime(originMs + from),
      endTime: hrTime(originMs + ended),
      duration: hrTime(ended - from),
      status,
      attributes,
      links: [],
      events: [],
      ended: true,
      resource,
      instrumentationScope: scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  };
}

function hrTime(ms: Millis): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
