import { RoutingError } from '../framework/error.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { RoutedRequest, Router } from '../framework/routing.ts';
import type { BodyReader, RequestHead } from '../request/body-reader.ts';
import { chunked } from './chunked.ts';
import { CONTROL_HEADERS } from './control-headers.ts';
import { rejection } from './rejection.ts';
import type { PickMutation, StreamAction } from './stream-action.ts';
import { BODY_MODE, type CloseReason, type StreamEvent } from './stream-event.ts';
import { UsageTail } from './usage-tail.ts';

export interface SessionOptions {
  readonly router: Router;
  readonly openBody: (head: RequestHead) => BodyReader;
  /** The request as far as its headers tell it, for bodies we never see. */
  readonly headerOnly: (head: RequestHead) => InferenceRequest;
  readonly newRequestId: () => string;
  /**
   * Where the body streams past us, the pick is made after so many bytes at the latest. Must lie below the proxy's
   * buffer limit (1 MiB by default): past that it stops reading and waits for us for ever.
   */
  readonly earlyPickBytes: number;
  /** In full duplex, give up the response side: output tokens cost nothing, and their end is not seen. */
  readonly halfCloseAfterPick: boolean;
  /** An error that is ours. The request has been answered with 500. */
  readonly onFault: (error: unknown) => void;
  readonly onRejected: (error: RoutingError, model: string) => void;
}

/** How the request's body reaches us, and so when we pick and what we answer. */
type RequestMode = 'duplex' | 'buffered' | 'early' | 'headers';

/**
 * One HTTP request's life on one ext_proc stream: events in, actions out, no sockets. The rules it keeps are
 * numbered in SPEC.md.
 */
export class Session {
  readonly #options: SessionOptions;
  readonly #emit: (action: StreamAction) => void;
  #mode: RequestMode = 'duplex';
  #responseMode: number = BODY_MODE.fullDuplex;
  #head: RequestHead | undefined;
  #reader: BodyReader | undefined;
  #withheld: Buffer[] = [];
  #withheldChunks = 0;
  #bodyBytes = 0;
  #requestEnded = false;
  #subset: readonly string[] | undefined;
  #routed: RoutedRequest | undefined;
  #responseStatus: number | undefined;
  #tail = new UsageTail();
  /** Nothing more is answered: rejected, half-closed or only observing. */
  #silent = false;
  #halfClosed = false;

  constructor(options: SessionOptions, emit: (action: StreamAction) => void) {
    this.#options = options;
    this.#emit = emit;
  }

  on(event: StreamEvent): void {
    if (event.observing === true) this.#silent = true;
    if (this.#silent) return;
    try {
      this.#note(event);
      this.#dispatch(event);
    } catch (error) {
      this.#reject(error);
    }
  }

  /** The stream is over, however it ended. Gives back the reservation if anything still holds it. */
  closed(reason: CloseReason): void {
    this.#silent = true;
    const seen = this.#responseStatus !== undefined || this.#halfClosed;
    if (!seen) this.#routed?.done(reason === 'failed' ? 'failed' : 'aborted');
    // Without a response body the end of the stream is the end of the response.
    else if (this.#responseMode === BODY_MODE.none || this.#halfClosed) this.#complete();
    else this.#routed?.done('aborted');
  }

  #note({ protocol, metadata }: StreamEvent): void {
    // Of the first message only: a mode that changed half-way would pick twice.
    if (protocol !== undefined && this.#head === undefined) {
      this.#mode = requestMode(protocol.requestBodyMode, protocol.sendsBodyWithoutWaiting);
      this.#responseMode = protocol.responseBodyMode;
    }
    if (metadata?.subset !== undefined) this.#subset = metadata.subset;
    if (metadata?.served !== undefined) this.#routed?.served(metadata.served);
  }

  #dispatch(event: StreamEvent): void {
    switch (event.kind) {
      case 'request-headers':
        this.#onRequestHeaders(event.headers.toMap(), event.endOfStream);
        return;
      case 'request-body':
        this.#onRequestBody(event.chunk, event.endOfStream);
        return;
      case 'request-trailers':
        this.#onRequestTrailers();
        return;
      case 'response-headers':
        this.#onResponseHeaders(event.headers.toMap(), event.endOfStream);
        return;
      case 'response-body':
        this.#onResponseBody(event.chunk, event.endOfStream);
        return;
      case 'response-trailers':
        this.#complete();
        this.#emit({ kind: 'answer-response-trailers' });
        return;
      case 'unknown':
        return;
    }
  }

  #onRequestHeaders(headers: ReadonlyMap<string, string>, endOfStream: boolean): void {
    if (this.#head !== undefined) return;
    const path = headers.get(':path') ?? '/';
    const head = { id: this.#options.newRequestId(), path, headers };
    this.#head = head;
    if (endOfStream || this.#mode === 'headers') {
      this.#requestEnded = endOfStream;
      // A POST that ends here has an empty body, which some paths do not take; anything else has none.
      const empty = endOfStream && headers.get(':method') === 'POST';
      const { openBody, headerOnly } = this.#options;
      const request = empty ? openBody(head).end() : headerOnly(head);
      this.#emit({ kind: 'answer-request-headers', pick: this.#pick(request, undefined) });
      return;
    }
    this.#reader = this.#options.openBody(head);
    if (this.#mode === 'buffered') this.#emit({ kind: 'answer-request-headers', pick: undefined });
  }

  #onRequestBody(chunk: Buffer, endOfStream: boolean): void {
    if (this.#requestEnded) return;
    if (this.#reader === undefined) {
      // Picked by the headers alone, or no headers were ever sent: let it pass.
      this.#requestEnded = endOfStream;
      this.#emit({ kind: 'answer-request-body', pick: undefined });
      return;
    }
    this.#bodyBytes += chunk.length;
    this.#reader.push(chunk);
    if (this.#mode === 'duplex') this.#withheld.push(chunk);
    else if (this.#mode === 'early') this.#answerOrWithhold(endOfStream);
    // BUFFERED sends the whole body as one message; with trailers to come it is not marked as the end.
    if (endOfStream || this.#mode === 'buffered') this.#endRequest(this.#reader, false);
  }

  #onRequestTrailers(): void {
    if (!this.#requestEnded && this.#reader !== undefined) this.#endRequest(this.#reader, true);
    this.#requestEnded = true;
    this.#emit({ kind: 'answer-request-trailers' });
  }

  /** The body streams past: nothing is answered until the pick, then every chunk at once. */
  #answerOrWithhold(endOfStream: boolean): void {
    if (this.#routed !== undefined) {
      this.#emit({ kind: 'answer-request-body', pick: undefined });
      return;
    }
    this.#withheldChunks += 1;
    if (endOfStream || this.#reader === undefined) return;
    // The proxy holds trailers back until it has our answer: a body that is complete must not wait for its end.
    const enough = this.#reader.complete || this.#bodyBytes >= this.#options.earlyPickBytes;
    if (enough) this.#pickEarly(this.#reader.peek());
  }

  #pickEarly(request: InferenceRequest): void {
    const pick = this.#pick(request, undefined);
    this.#emit({ kind: 'answer-request-headers', pick });
    for (; this.#withheldChunks > 0; this.#withheldChunks--) {
      this.#emit({ kind: 'answer-request-body', pick: undefined });
    }
  }

  #endRequest(reader: BodyReader, byTrailers: boolean): void {
    this.#requestEnded = true;
    const request = reader.end();
    if (this.#mode === 'early') {
      if (this.#routed === undefined) this.#pickEarly(request);
      else this.#routed.bodyRead(request);
    } else if (this.#mode === 'buffered') {
      this.#emit({ kind: 'answer-request-body', pick: this.#pick(request, undefined) });
    } else this.#echoRequest(request, byTrailers);
  }

  #echoRequest(request: InferenceRequest, byTrailers: boolean): void {
    // Trailers need chunked encoding, which excludes a length.
    const contentLength = byTrailers ? undefined : this.#bodyBytes;
    this.#emit({ kind: 'answer-request-headers', pick: this.#pick(request, contentLength) });
    const groups = chunked(this.#withheld);
    groups.forEach((pieces, index) => {
      const endOfStream = !byTrailers && index === groups.length - 1;
      this.#emit({ kind: 'echo-request-body', pieces, endOfStream });
    });
    this.#withheld = [];
    if (this.#options.halfCloseAfterPick && !byTrailers) {
      this.#halfClosed = true;
      this.#silent = true;
      this.#emit({ kind: 'half-close' });
    }
  }

  #pick(request: InferenceRequest, contentLength: number | undefined): PickMutation {
    const routed = this.#options.router.route(request, {
      subset: this.#subset,
      firstTokenSeen: this.#responseMode !== BODY_MODE.none && !this.#options.halfCloseAfterPick,
    });
    this.#routed = routed;
    const set = [...routed.headers];
    if (contentLength !== undefined) set.push(['content-length', String(contentLength)]);
    const sent = request.headers;
    if ((sent.get('x-request-id') ?? '') === '') set.push(['x-request-id', request.id]);
    const destination = routed.destinations.join(',');
    const removeHeaders = CONTROL_HEADERS.filter(
      (name, index) => index > 0 && sent.has(name) && !routed.headers.has(name),
    );
    return { destination, setHeaders: set, removeHeaders };
  }

  #onResponseHeaders(headers: ReadonlyMap<string, string>, endOfStream: boolean): void {
    this.#responseStatus = Number(headers.get(':status') ?? 200);
    this.#emit({ kind: 'answer-response-headers' });
    if (endOfStream) this.#complete();
  }

  #onResponseBody(chunk: Buffer, endOfStream: boolean): void {
    this.#responseStatus ??= 200;
    if (chunk.length > 0) this.#routed?.firstToken();
    this.#tail.push(chunk);
    if (this.#responseMode === BODY_MODE.fullDuplex) {
      const groups = chunked([chunk]);
      groups.forEach((pieces, index) => {
        const last = endOfStream && index === groups.length - 1;
        this.#emit({ kind: 'echo-response-body', pieces, endOfStream: last });
      });
    } else this.#emit({ kind: 'answer-response-body' });
    if (endOfStream) this.#complete();
  }

  #complete(): void {
    const failed = (this.#responseStatus ?? 200) >= 500;
    this.#routed?.done(failed ? 'failed' : 'completed', this.#tail.usage());
    this.#tail = new UsageTail();
  }

  #reject(error: unknown): void {
    this.#silent = true;
    this.#withheld = [];
    this.#routed?.done('aborted');
    const expected = error instanceof RoutingError;
    if (!expected) this.#options.onFault(error);
    const shown = expected
      ? error
      : new RoutingError('internal', 'the endpoint picker failed on this request; see its log');
    this.#options.onRejected(shown, this.#routed?.request.model ?? '');
    this.#emit(rejection(shown));
  }
}

function requestMode(bodyMode: number, sendsBodyWithoutWaiting: boolean): RequestMode {
  switch (bodyMode) {
    case BODY_MODE.fullDuplex:
      return 'duplex';
    case BODY_MODE.buffered:
    case BODY_MODE.bufferedPartial:
      return 'buffered';
    case BODY_MODE.streamed:
      return sendsBodyWithoutWaiting ? 'early' : 'headers';
    default:
      return 'headers';
  }
}
