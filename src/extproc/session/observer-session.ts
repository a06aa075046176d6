import { echoBody, passChunk } from '../codec/echo-body.ts';
import type { StreamAction } from '../codec/stream-action.ts';
import {
  BODY_MODE,
  type CloseReason,
  DEFAULT_PROTOCOL,
  type StreamEvent,
} from '../codec/stream-event.ts';
import {
  type BookingMode,
  ObservedRequest,
  type ObservedRequestOptions,
} from './observed-request.ts';
import { ResponsePhase } from './response-phase.ts';

export interface ObserverSessionOptions extends ObservedRequestOptions {
  /** Called for an error that is ours. The request goes on without us. */
  readonly onFault: (error: unknown) => void;
}

/**
 * One HTTP request on the stream of a filter behind another picker's. Answers awaited are sent at
 * once and change nothing; in `observability_mode` none is. Throws only what `emit` or `onFault`
 * does.
 */
export class ObserverSession {
  readonly #options: ObserverSessionOptions;
  readonly #emit: (action: StreamAction) => void;
  readonly #request: ObservedRequest;
  /** Its answers are not sent. */
  readonly #response = new ResponsePhase(() => undefined);
  #protocol = DEFAULT_PROTOCOL;
  #observing = false;
  #begun = false;
  #over = false;

  constructor(options: ObserverSessionOptions, emit: (action: StreamAction) => void) {
    this.#options = options;
    this.#emit = emit;
    this.#request = new ObservedRequest(options);
  }

  /** An observer keeps no request waiting, so no limit of uploads concerns it. */
  get phase(): 'answering' {
    return 'answering';
  }

  get clientRequestId(): string | undefined {
    return this.#request.clientRequestId;
  }

  /** It passes everything on at once. */
  get waits(): false {
    return false;
  }

  /** The request is not ours to refuse. */
  refuse(): boolean {
    return false;
  }

  on(event: StreamEvent): void {
    this.#configure(event);
    // First, so that nothing that we do with the event can hold it up.
    if (!this.#observing) this.#pass(event);
    if (this.#over) return;
    try {
      this.#readMetadata(event);
      this.#follow(event);
    } catch (error) {
      this.#fail(error);
    }
  }

  answerCut(): void {
    this.#response.answerCut();
  }

  /** The stream is over. In `observability_mode` that is some seconds after the request. */
  closed(reason: CloseReason): void {
    if (this.#over) return;
    this.#over = true;
    const { routed } = this.#request;
    try {
      this.#response.closed(reason, routed);
      this.#request.close();
    } catch (error) {
      this.#options.onFault(error);
    }
  }

  #configure({ protocol, observing }: StreamEvent): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#observing = observing;
    this.#protocol = protocol ?? DEFAULT_PROTOCOL;
    this.#response.configure(this.#protocol.responseBodyMode);
  }

  #pass(event: StreamEvent): void {
    const { requestBodyMode, responseBodyMode } = this.#protocol;
    switch (event.kind) {
      case 'request-headers':
        this.#emit({ kind: 'answer-request-headers', pick: undefined });
        return;
      case 'request-body':
        passChunk(this.#emit, event.chunk, event.endOfStream, requestBodyMode);
        return;
      case 'response-headers':
        this.#emit({ kind: 'answer-response-headers', setHeaders: [] });
        return;
      case 'response-body':
        if (responseBodyMode === BODY_MODE.fullDuplex)
          echoBody(this.#emit, 'echo-response-body', [event.chunk], event.endOfStream);
        else this.#emit({ kind: 'answer-response-body' });
        return;
      case 'request-trailers':
        this.#emit({ kind: 'answer-request-trailers' });
        return;
      case 'response-trailers':
        this.#emit({ kind: 'answer-response-trailers' });
        return;
      case 'unknown':
        return;
    }
  }

  #readMetadata({ metadata }: StreamEvent): void {
    if (metadata?.subset !== undefined) this.#request.allow(metadata.subset);
    if (metadata?.destination !== undefined) this.#request.sentTo(metadata.destination);
    if (metadata?.served !== undefined) this.#request.routed?.served(metadata.served);
  }

  #follow(event: StreamEvent): void {
    const mode = this.#mode();
    switch (event.kind) {
      case 'request-headers':
        return this.#request.onHeaders(event.headers.toMap(), event.endOfStream, mode);
      case 'request-body':
        return this.#request.onBody(event.chunk, event.endOfStream, mode);
      case 'request-trailers':
        return this.#request.onTrailers(mode);
      case 'response-headers': {
        this.#request.onAnswered(mode);
        const { routed } = this.#request;
        this.#response.onHeaders(event, routed, this.#request.answerReaders);
        // The engine model predicts the end: this stream ends too late to show it.
        if (!mode.endVisible) this.#response.complete(routed);
        return;
      }
      case 'response-body':
        return this.#response.onBody(event.chunk, event.endOfStream, this.#request.routed);
      case 'response-trailers':
        return this.#response.onTrailers(event.headers, this.#request.routed);
      case 'unknown':
        return;
    }
  }

  #mode(): BookingMode {
    const { requestBodyMode, responseBodyMode } = this.#protocol;
    const bodyVisible = responseBodyMode !== BODY_MODE.none;
    return {
      requestBodyMode,
      firstTokenVisible: bodyVisible,
      endVisible: bodyVisible || !this.#observing,
    };
  }

  /** This request is not followed any more; all its messages still pass. */
  #fail(error: unknown): void {
    this.#over = true;
    this.#options.onFault(error);
    try {
      this.#request.routed?.done('aborted');
    } catch (fault) {
      this.#options.onFault(fault);
    }
  }
}
