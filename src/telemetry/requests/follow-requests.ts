import type { Endpoint } from '../../framework/endpoint.ts';
import type { RoutingError } from '../../framework/error.ts';
import type { FollowedHead, FollowedRequest, FollowRequest } from '../../framework/following.ts';
import type { Outcome, Routed, Usage } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import { InFlightMap } from '../../framework/values/in-flight-map.ts';
import type { DecisionEvent, JournalSubscriber } from '../../picker/events/journal.ts';
import { newRecord, type RequestRecord } from './request-record.ts';
import { type RequestTrace, traceparentOf } from './trace-context.ts';

export interface FollowOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Undefined without tracing. */
  readonly beginTrace?:
    | ((head: FollowedHead, proxy: string | undefined) => RequestTrace)
    | undefined;
  /** Called once for each request, when its stream is over. */
  readonly onClosed: (record: RequestRecord) => void;
}

/**
 * Notes what becomes of each request: sessions say when it comes and goes, the journal what is
 * decided and when tokens come. Holds one record for each open stream.
 */
export class RequestFollower implements JournalSubscriber {
  readonly #options: FollowOptions;
  readonly #open = new InFlightMap<string, RequestRecord>(numberOfId);

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  /** The number of requests whose stream is open. */
  get size(): number {
    return this.#open.size;
  }

  /** The id of the trace that is written for this request; undefined where none is. */
  traceIdOf({ id }: InferenceRequest): string | undefined {
    const trace = this.#open.get(id)?.trace;
    return trace?.sampled === true ? trace.traceId : undefined;
  }

  readonly follow: FollowRequest = (head, proxy) => {
    const { clock, beginTrace } = this.#options;
    const record = newRecord(head, clock.now(), beginTrace?.(head, proxy));
    this.#open.set(head.id, record);
    return new FollowedStream(record, clock, this.#close);
  };

  onPrepared({ id }: InferenceRequest, preparedMs: Millis): void {
    const record = this.#open.get(id);
    if (record !== undefined) record.preparedMs += preparedMs;
  }

  onDecision(event: DecisionEvent): void {
    const record = this.#open.get(event.request.id);
    if (record === undefined) return;
    record.decidedAt = this.#options.clock.now();
    record.scheduleMs = event.durationMs;
    record.decidedBy = event.decision?.decidedBy;
    if (record.trace?.sampled === true) record.decision = event;
  }

  onRouted(routed: Routed): void {
    const record = this.#open.get(routed.request.id);
    if (record !== undefined) record.routed = routed;
  }

  onPassed({ id }: InferenceRequest, endpoint: Endpoint): void {
    const record = this.#open.get(id);
    if (record !== undefined) record.passedTo = endpoint;
  }

  onBodyRead({ request: { id } }: Routed, request: InferenceRequest): void {
    const record = this.#open.get(id);
    if (record !== undefined) record.request = request;
  }

  onFirstToken({ request: { id } }: Routed): void {
    const record = this.#open.get(id);
    if (record !== undefined) record.firstTokenAt = this.#options.clock.now();
  }

  onServed({ request: { id } }: Routed, address: string): void {
    const record = this.#open.get(id);
    if (record !== undefined) record.servedBy = address;
  }

  onEnded(
    { request: { id } }: Routed,
    _at: Millis,
    outcome: Outcome,
    usage: Usage | undefined,
    responseBytes?: number,
  ): void {
    const record = this.#open.get(id);
    if (record === undefined) return;
    record.endedAt = this.#options.clock.now();
    record.outcome = outcome;
    record.usage = usage;
    record.responseBytes = responseBytes;
  }

  readonly #close = (record: RequestRecord): void => {
    this.#open.delete(record.head.id);
    this.#options.onClosed(record);
  };
}

/** What a session reports about its request. */
class FollowedStream implements FollowedRequest {
  readonly #record: RequestRecord;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #onClosed: (record: RequestRecord) => void;

  constructor(
    record: RequestRecord,
    clock: Pick<Clock, 'now'>,
    onClosed: (record: RequestRecord) => void,
  ) {
    this.#record = record;
    this.#clock = clock;
    this.#onClosed = onClosed;
  }

  /** A caller that does not sample needs no other parent: its header is passed on as it came. */
  get traceparent(): string | undefined {
    const { trace } = this.#record;
    if (trace === undefined || (trace.parent !== undefined && !trace.sampled)) return undefined;
    return traceparentOf(trace);
  }

  get traceId(): string | undefined {
    const { trace } = this.#record;
    return trace?.sampled === true ? trace.traceId : undefined;
  }

  bodyRead(request: InferenceRequest): void {
    this.#record.readAt = this.#clock.now();
    this.#record.request = request;
  }

  refused(error: RoutingError): void {
    this.#record.error = error;
    this.#record.endedAt = this.#clock.now();
  }

  closed(status: number | undefined): void {
    this.#record.status = status;
    this.#record.endedAt ??= this.#clock.now();
    this.#onClosed(this.#record);
  }
}

/** The picker's ids end with a count, so that those of requests in flight differ near their end. */
function numberOfId(id: string): number {
  let number = 0;
  for (let index = Math.max(0, id.length - COUNTED_CHARS); index < id.length; index++) {
    number = (Math.imul(number, 31) + id.charCodeAt(index)) | 0;
  }
  return number;
}

/** 36 ** 6 are two billion requests. */
const COUNTED_CHARS = 6;
