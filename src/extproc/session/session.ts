import { internalFailure, RoutingError } from '../../framework/error.ts';
import type { FollowRequest } from '../../framework/following.ts';
import type { RequestLabels } from '../../framework/request.ts';
import {
  LocalAnswer,
  type LocalResponse,
  type RequestLine,
} from '../../framework/request-control.ts';
import type { StreamAction } from '../codec/stream-action.ts';
import type { CloseReason, StreamEvent } from '../codec/stream-event.ts';
import type { ReadRequest, SessionHead } from '../request-body/read-request.ts';
import { type ByteAccount, UNCOUNTED } from '../streams/byte-account.ts';
import type { StreamPhase } from '../streams/stream-account.ts';
import { errorFormOf, errorResponse } from './error-response.ts';
import { RequestPhase } from './request-phase.ts';
import { RequestPick } from './request-pick.ts';
import { ResponsePhase } from './response-phase.ts';
import type { SessionRules } from './session-rules.ts';
import { WaitingEvents } from './waiting-events.ts';

export interface SessionOptions extends SessionRules {
  readonly newRequestId: () => string;
  /** Called for an error of ours. The request has been answered with 500, unless it was over. */
  readonly onFault: (error: unknown, about: AboutRequest) => void;
  /** Without a request where it was refused before it could be picked for. */
  readonly onRefused: (
    error: RoutingError,
    request: RequestLabels | undefined,
    about: AboutRequest,
  ) => void;
  /** Notes what becomes of requests. Undefined where no trace or log needs it. */
  readonly follow?: FollowRequest | undefined;
  /** Answers some requests without a body in place of a model server. Throws RoutingError. */
  readonly respond?: ((request: RequestLine) => LocalResponse | undefined) | undefined;
}

/** What names a request in the log. */
export interface AboutRequest {
  /** The client's `x-request-id`, or the picker's own id. */
  readonly requestId?: string;
  readonly traceId?: string;
}

/**
 * `over`: only observing, or closed. `refused`: answered by the picker itself. No event has an
 * effect on either.
 */
type State = 'open' | 'half-closed' | 'refused' | 'over';

/**
 * One HTTP request on one ext_proc stream: events in, actions out, no sockets. SPEC.md numbers its
 * rules. Throws only what `emit` or `onFault` throws.
 */
export class Session {
  readonly #options: SessionOptions;
  readonly #emit: (action: StreamAction) => void;
  readonly #request: RequestPhase;
  readonly #pick: RequestPick;
  readonly #response: ResponsePhase;
  readonly #account: ByteAccount;
  /** The header `traceparent` of the proxy's call to the picker. */
  readonly #traceparent: string | undefined;
  #head: SessionHead | undefined;
  #state: State = 'open';
  #begun = false;
  #closed = false;
  readonly #waiting: WaitingEvents;

  constructor(
    options: SessionOptions,
    emit: (action: StreamAction) => void,
    account: ByteAccount = UNCOUNTED,
    traceparent?: string,
  ) {
    this.#options = options;
    this.#emit = emit;
    this.#account = account;
    this.#waiting = new WaitingEvents(account);
    this.#traceparent = traceparent;
    const send = (action: StreamAction): void => {
      if (action.kind === 'half-close') this.#state = 'half-closed';
      else if (action.kind === 'immediate-response') this.#state = 'refused';
      emit(action);
    };
    this.#request = new RequestPhase(options, send, account);
    this.#pick = new RequestPick(options, {
      emit: send,
      resume: (go) => this.#resume(go),
      onRouted: (routed) => this.#request.onRouted(routed),
    });
    this.#response = new ResponsePhase(emit, options);
  }

  get phase(): StreamPhase {
    if (this.#state === 'refused') return 'refused';
    if (this.#state !== 'open' || this.#response.status !== undefined) return 'answering';
    if (this.#pick.routed !== undefined) return 'picked';
    if (this.#pick.waits) return 'waiting';
    if (this.#request.ended) return 'picked';
    return this.#request.gathers ? 'gathering' : 'uploading';
  }

  /** The header `x-request-id`. */
  get clientRequestId(): string | undefined {
    return this.#head?.headers.get('x-request-id');
  }

  /** Whether its pick has to wait, so that the answers to what has come are still to be sent. */
  get waits(): boolean {
    return this.#state === 'open' && this.#pick.waits;
  }

  /** Ends the request with an answer to the client; false where it is too late for one. */
  refuse(error: RoutingError): boolean {
    if (this.#state !== 'open') return false;
    this.#refuse(error);
    return true;
  }

  on(event: StreamEvent): void {
    if (this.#state !== 'open') return;
    if (this.#pick.waits) {
      this.#waiting.add(event);
      return;
    }
    if (event.observing) {
      this.#state = 'over';
      return;
    }
    try {
      this.#configure(event);
      const read = this.#take(event);
      if (read !== undefined) this.#pick.begin(read);
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** The proxy says that the server has broken off the answer; the end of the stream follows. */
  answerCut(): void {
    this.#response.answerCut();
  }

  /** The stream is over, however it ended. Releases the reservation if it is still held. */
  closed(reason: CloseReason): void {
    if (this.#closed) return;
    this.#closed = true;
    const { routed } = this.#pick;
    try {
      if (this.#state === 'half-closed') routed?.done('completed');
      else this.#response.closed(reason, routed);
    } catch (error) {
      this.#options.onFault(error, this.#about);
    }
    this.#state = 'over';
    this.#drop();
    this.#head?.followed?.closed(this.#response.status);
  }

  get #about(): AboutRequest {
    const { id, headers, followed } = this.#head ?? {};
    const requestId = headers?.get('x-request-id') || id;
    const traceId = followed?.traceId;
    return { ...(requestId && { requestId }), ...(traceId && { traceId }) };
  }

  /** Returns the request at the event after which it can be picked. */
  #take(event: StreamEvent): ReadRequest | undefined {
    switch (event.kind) {
      case 'request-headers':
        // Kept to the end: observers of the request may read them.
        this.#account.hold(event.wireBytes);
        return this.#begin(event.headers.toMap(), event.endOfStream);
      case 'request-body':
        return this.#request.onBody(event.chunk, event.endOfStream);
      case 'request-trailers':
        return this.#request.onTrailers();
      case 'response-headers':
        this.#response.onHeaders(event, this.#pick.routed, this.#request.answerReaders);
        return undefined;
      case 'response-body':
        this.#response.onBody(event.chunk, event.endOfStream, this.#pick.routed);
        return undefined;
      case 'response-trailers':
        this.#response.onTrailers(event.headers, this.#pick.routed);
        return undefined;
      case 'unknown':
        return undefined;
    }
  }

  /** The wait before a pick is over. Nothing is left to do when the request is over, too. */
  #resume(go: () => void): void {
    if (this.#state !== 'open') return;
    try {
      go();
    } catch (error) {
      this.#refuse(error);
    }
    // If an event makes the session wait again, `on` keeps the events behind it.
    this.#waiting.takeEach((event) => this.on(event));
  }

  /** A second time, headers are ignored. */
  #begin(headers: ReadonlyMap<string, string>, endOfStream: boolean): ReadRequest | undefined {
    if (this.#head !== undefined) return undefined;
    const { newRequestId, follow } = this.#options;
    const head = { id: newRequestId(), path: headers.get(':path') ?? '/', headers };
    this.#head = head;
    if (endOfStream && this.#answersItself(headers)) return undefined;
    if (follow !== undefined) this.#head = { ...head, followed: follow(head, this.#traceparent) };
    this.#pick.onHeaders(this.#head, endOfStream);
    return this.#request.onHeaders(this.#head, endOfStream);
  }

  /** Answers in place of a model server, if it can; then the request is over. Returns whether. */
  #answersItself(headers: ReadonlyMap<string, string>): boolean {
    const request = { method: headers.get(':method') ?? '', path: headers.get(':path') ?? '/' };
    const local = this.#options.respond?.(request);
    if (local === undefined) return false;
    this.#respondLocally(local);
    return true;
  }

  #respondLocally({ status, contentType, body }: LocalResponse): void {
    this.#state = 'refused';
    this.#emit({
      kind: 'immediate-response',
      status,
      headers: [['content-type', contentType]],
      body,
    });
  }

  #configure({ protocol, metadata }: StreamEvent): void {
    // Only the first message counts: a mode that changed half-way would pick twice.
    if (protocol !== undefined && !this.#begun) {
      this.#request.configure(protocol);
      this.#pick.configure(protocol);
      this.#response.configure(protocol.responseBodyMode);
    }
    this.#begun = true;
    if (metadata?.subset !== undefined && this.#options.ignoreSubset !== true) {
      this.#pick.allow(metadata.subset);
    }
    if (metadata?.served !== undefined) this.#pick.routed?.served(metadata.served);
  }

  #drop(): void {
    this.#pick.cancel();
    this.#request.drop();
  }

  /** Ends the request with an answer to the client; only the end of the stream matters after it. */
  #refuse(error: unknown): void {
    if (error instanceof LocalAnswer) return this.#respondLocally(error.response);
    this.#state = 'refused';
    this.#waiting.drop();
    const { onFault, onRefused } = this.#options;
    const { routed, request } = this.#pick;
    this.#drop();
    const expected = error instanceof RoutingError;
    const shown = expected ? error : internalFailure();
    this.#emit(errorResponse(shown, errorFormOf(this.#head)));
    const about = this.#about;
    this.#head?.followed?.refused(shown);
    if (!expected) onFault(error, about);
    try {
      routed?.done('aborted');
      onRefused(shown, request, about);
    } catch (fault) {
      onFault(fault, about);
    }
  }
}
