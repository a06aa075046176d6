import { RoutingError } from '../../framework/error.ts';
import type { StreamAction } from '../codec/stream-action.ts';
import type { CloseReason, StreamEvent } from '../codec/stream-event.ts';
import { rejection } from './rejection.ts';
import { RequestPhase, type RequestPhaseOptions } from './request-phase.ts';
import { ResponsePhase } from './response-phase.ts';

export interface SessionOptions extends RequestPhaseOptions {
  /** An error that is ours. The request has been answered with 500, unless it was over. */
  readonly onFault: (error: unknown) => void;
  readonly onRejected: (error: RoutingError, model: string) => void;
}

/** `over` once nothing more is said or listened to: rejected, half-closed, only observing, or closed. */
type State = 'open' | 'half-closed' | 'over';

/**
 * One HTTP request's life on one ext_proc stream: events in, actions out, no sockets. The rules it keeps are
 * numbered in SPEC.md. Throws only what `emit` or `onFault` throws.
 */
export class Session {
  readonly #options: SessionOptions;
  readonly #emit: (action: StreamAction) => void;
  readonly #request: RequestPhase;
  readonly #response: ResponsePhase;
  #state: State = 'open';
  #begun = false;
  #closed = false;
  /** What came while something was being got ready for the pick. The proxy awaits our answer, so it is little. */
  readonly #waiting: StreamEvent[] = [];

  constructor(options: SessionOptions, emit: (action: StreamAction) => void) {
    this.#options = options;
    this.#emit = emit;
    this.#request = new RequestPhase(
      options,
      (action) => {
        if (action.kind === 'half-close') this.#state = 'half-closed';
        emit(action);
      },
      (go) => this.#resume(go),
    );
    this.#response = new ResponsePhase(emit);
  }

  on(event: StreamEvent): void {
    if (this.#state !== 'open') return;
    if (this.#request.preparing) {
      this.#waiting.push(event);
      return;
    }
    if (event.observing) {
      this.#state = 'over';
      return;
    }
    try {
      this.#note(event);
      this.#dispatch(event);
    } catch (error) {
      this.#reject(error);
    }
  }

  /** The wait before a pick is over; unless the request is. */
  #resume(go: () => void): void {
    if (this.#state !== 'open') return;
    try {
      go();
    } catch (error) {
      this.#reject(error);
    }
    for (const event of this.#waiting.splice(0)) this.on(event);
  }

  /** The stream is over, however it ended. Gives back the reservation if anything still holds it. */
  closed(reason: CloseReason): void {
    if (this.#closed) return;
    this.#closed = true;
    const { routed } = this.#request;
    try {
      if (this.#state === 'half-closed') routed?.done('completed');
      else if (this.#response.endsWithStream) this.#response.complete(routed);
      else routed?.done(reason === 'failed' ? 'failed' : 'aborted');
    } catch (error) {
      this.#options.onFault(error);
    }
    this.#state = 'over';
    this.#request.drop();
  }

  #note({ protocol, metadata }: StreamEvent): void {
    // Of the first message only: a mode that changed half-way would pick twice.
    if (protocol !== undefined && !this.#begun) {
      this.#request.configure(protocol);
      this.#response.configure(protocol.responseBodyMode);
    }
    this.#begun = true;
    if (metadata?.subset !== undefined) this.#request.allow(metadata.subset);
    if (metadata?.served !== undefined) this.#request.routed?.served(metadata.served);
  }

  #dispatch(event: StreamEvent): void {
    switch (event.kind) {
      case 'request-headers':
        this.#request.onHeaders(event.headers.toMap(), event.endOfStream);
        return;
      case 'request-body':
        this.#request.onBody(event.chunk, event.endOfStream);
        return;
      case 'request-trailers':
        this.#request.onTrailers();
        return;
      case 'response-headers':
        this.#response.onHeaders(event, this.#request.routed, this.#request.answer);
        return;
      case 'response-body':
        this.#response.onBody(event.chunk, event.endOfStream, this.#request.routed);
        return;
      case 'response-trailers':
        this.#response.onTrailers(this.#request.routed);
        return;
      case 'unknown':
        return;
    }
  }

  /** The request's end, said to the client; nothing is heard after it but the stream's end. */
  #reject(error: unknown): void {
    this.#state = 'over';
    const { onFault, onRejected } = this.#options;
    const { routed } = this.#request;
    this.#request.drop();
    const expected = error instanceof RoutingError;
    const shown = expected
      ? error
      : new RoutingError('internal', 'the endpoint picker failed on this request; see its log');
    this.#emit(rejection(shown));
    if (!expected) onFault(error);
    try {
      routed?.done('aborted');
      onRejected(shown, routed?.request.rewrite?.requestedModel ?? routed?.request.model ?? '');
    } catch (fault) {
      onFault(fault);
    }
  }
}
