import type { Endpoint } from '../../framework/endpoint.ts';
import { ERRORS, type RoutingError } from '../../framework/error.ts';
import type { FollowedHead } from '../../framework/following.ts';
import type { Outcome, Routed, Usage } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { DecisionEvent } from '../../picker/events/journal.ts';
import type { RequestTrace } from './trace-context.ts';

/** What became of one request, and when. Times are those of the picker's clock. */
export interface RequestRecord {
  readonly head: FollowedHead;
  /** Undefined without tracing. */
  readonly trace: RequestTrace | undefined;
  readonly beganAt: Millis;
  /** When the body was read as far as the decision needs it. */
  readAt: Millis | undefined;
  request: InferenceRequest | undefined;
  /** When the decision was published, and how long the scheduler took. */
  decidedAt: Millis | undefined;
  scheduleMs: Millis | undefined;
  /** Kept only where its trace is written: it holds a score for each endpoint. */
  decision: DecisionEvent | undefined;
  decidedBy: string | undefined;
  routed: Routed | undefined;
  /** Where a request without a body has gone. */
  passedTo: Endpoint | undefined;
  /** The address that the proxy used, where it says so. */
  servedBy: string | undefined;
  /** How long it waited for tokens, or for another process. */
  preparedMs: Millis;
  firstTokenAt: Millis | undefined;
  endedAt: Millis | undefined;
  outcome: Outcome | undefined;
  usage: Usage | undefined;
  responseBytes: number | undefined;
  error: RoutingError | undefined;
  status: number | undefined;
}

/** The record of a request of which only the head is known. */
export function newRecord(
  head: FollowedHead,
  beganAt: Millis,
  trace: RequestTrace | undefined,
): RequestRecord {
  return {
    head,
    trace,
    beganAt,
    readAt: undefined,
    request: undefined,
    decidedAt: undefined,
    scheduleMs: undefined,
    decision: undefined,
    decidedBy: undefined,
    routed: undefined,
    passedTo: undefined,
    servedBy: undefined,
    preparedMs: 0,
    firstTokenAt: undefined,
    endedAt: undefined,
    outcome: undefined,
    usage: undefined,
    responseBytes: undefined,
    error: undefined,
    status: undefined,
  };
}

/** The client's name for the model, or the only one there is; empty where none was read. */
export function modelOf({ request }: RequestRecord): string {
  return request?.rewrite?.requestedModel ?? request?.model ?? '';
}

/** The client's `x-request-id`, or the picker's own id. */
export function requestIdOf({ head }: RequestRecord): string {
  return head.headers.get('x-request-id') || head.id;
}

/** The status that the client got: of the picker's refusal, or of the model server's response. */
export function statusOf({ error, status }: RequestRecord): number | undefined {
  return error === undefined ? status : ERRORS[error.code].status;
}

/** Whether it failed here or at the model server. A client that goes away is no failure. */
export function hasFailed({ error, outcome }: RequestRecord): boolean {
  return error !== undefined || outcome === 'failed';
}
