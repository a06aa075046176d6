import { RoutingError } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { RoutedRequest, Router } from '../../framework/routing.ts';
import type { AnswerBlocks } from '../../openai/answer-blocks.ts';
import { type BodyEdit, editBody, byteGrowth } from '../../openai/body-edit.ts';
import type { BodyReader, RequestHead } from '../../openai/body-reader.ts';
import type { PickMutation, StreamAction } from '../codec/stream-action.ts';
import { BODY_MODE, type ProtocolConfig } from '../codec/stream-event.ts';
import { chunked } from './chunked.ts';
import { isRenamed } from './is-renamed.ts';
import { PassingBody } from './passing-body.ts';
import { pickMutation } from './pick-mutation.ts';

export interface RequestPhaseOptions {
  readonly router: Router;
  readonly openBody: (head: RequestHead) => BodyReader;
  /** The request as far as its headers tell it, for one without a body. */
  readonly headerOnly: (head: RequestHead) => InferenceRequest;
  readonly newRequestId: () => string;
  /**
   * Where the body streams past us, the pick is made after so many bytes at the latest. Must lie below the proxy's
   * buffer limit (1 MiB by default): past that it stops reading and waits for us for ever.
   */
  readonly earlyPickBytes: number;
  /** In full duplex, give up the response side: output tokens cost nothing, and their end is not seen. */
  readonly halfCloseAfterPick: boolean;
}

/** When the pick is made, and what the proxy is told before: the request's body mode as it matters to us. */
type PickTime =
  /** Full duplex: at the body's end; nothing is answered before, and then all of it is sent back. */
  | 'body-end'
  /** The body comes in one message, once the headers have been answered. */
  | 'body-message'
  /** The body streams past: as soon as enough of it was seen. */
  | 'early'
  /** The body comes after our answer to the headers, or never. */
  | 'headers';

/** The request's half of a session: reads the body, has the router pick, and says so in the way the proxy's mode asks for. */
export class RequestPhase {
  readonly #options: RequestPhaseOptions;
  readonly #emit: (action: StreamAction) => void;
  #mode: number = BODY_MODE.fullDuplex;
  #pickTime: PickTime = 'body-end';
  #seesFirstToken = true;
  #subset: readonly string[] | undefined;
  #head: RequestHead | undefined;
  #reader: BodyReader | undefined;
  #withheld: Buffer[] = [];
  #bodyBytes = 0;
  readonly #passing = new PassingBody();
  #ended = false;
  #routed: RoutedRequest | undefined;
  #preparing = false;
  #answer: AnswerBlocks | undefined;
  readonly #resume: (go: () => void) => void;

  /** `resume` is called, after a wait, with what is to be done now that it is over. */
  constructor(
    options: RequestPhaseOptions,
    emit: (action: StreamAction) => void,
    resume: (go: () => void) => void,
  ) {
    this.#options = options;
    this.#emit = emit;
    this.#resume = resume;
  }

  /** Something is being got ready for the pick; what comes meanwhile has to wait. */
  get preparing(): boolean {
    return this.#preparing;
  }

  /** The pick, once there is one. */
  get routed(): RoutedRequest | undefined {
    return this.#routed;
  }

  /** For hashing the answer; undefined where it teaches nothing. */
  get answer(): AnswerBlocks | undefined {
    return this.#answer;
  }

  configure(protocol: ProtocolConfig): void {
    this.#mode = protocol.requestBodyMode;
    this.#pickTime = pickTimeOf(protocol);
    this.#seesFirstToken = protocol.responseBodyMode !== BODY_MODE.none;
  }

  allow(subset: readonly string[]): void {
    this.#subset = subset;
  }

  /** Lets go of the body. */
  drop(): void {
    this.#withheld = [];
    this.#passing.drop();
    this.#reader = undefined;
  }

  onHeaders(headers: ReadonlyMap<string, string>, endOfStream: boolean): void {
    if (this.#head !== undefined) return;
    const { newRequestId, openBody } = this.#options;
    const head = { id: newRequestId(), path: headers.get(':path') ?? '/', headers };
    this.#head = head;
    if (endOfStream) {
      this.#ended = true;
      this.#pickAtHeaders(head, this.#withoutBody(head));
      return;
    }
    this.#reader = openBody(head);
    if (this.#pickTime === 'headers') this.#pickAtHeaders(head, this.#reader.peek());
    else if (this.#pickTime === 'body-message') this.#answerHeaders(undefined);
  }

  onBody(chunk: Buffer, endOfStream: boolean): void {
    if (this.#ended) return;
    const head = this.#head;
    const reader = this.#reader;
    if (head === undefined || reader === undefined) {
      // Its headers were never sent to us: there is nothing to pick for, so it passes as it is.
      this.#ended = endOfStream;
      if (this.#pickTime === 'body-end') this.#echo([chunk], endOfStream);
      else this.#emit({ kind: 'answer-request-body', pick: undefined });
      return;
    }
    this.#bodyBytes += chunk.length;
    reader.push(chunk);
    switch (this.#pickTime) {
      case 'body-end':
        this.#withheld.push(chunk);
        if (endOfStream) this.#endDuplex(head, reader, this.#bodyBytes);
        return;
      case 'body-message':
        this.#pickAtBody(head, reader, chunk, endOfStream);
        return;
      case 'early':
      case 'headers':
        this.#passing.push(chunk);
        this.#passChunk(head, reader, endOfStream);
    }
  }

  /** Trailers complete the body; where it was complete already, or never came, they are only let pass. */
  onTrailers(): void {
    const head = this.#head;
    const reader = this.#reader;
    if (!this.#ended && head !== undefined && reader !== undefined) {
      if (this.#pickTime === 'body-end') {
        this.#endDuplex(head, reader, undefined);
        return;
      }
      this.#endStreamed(head, reader);
    }
    this.#ended = true;
    this.#emit({ kind: 'answer-request-trailers' });
  }

  /** A POST that ends with its headers has an empty body, which some paths refuse; anything else has none. */
  #withoutBody(head: RequestHead): InferenceRequest {
    const { openBody, headerOnly } = this.#options;
    return head.headers.get(':method') === 'POST' ? openBody(head).end() : headerOnly(head);
  }

  #read(reader: BodyReader): InferenceRequest {
    const request = reader.end();
    if (this.#seesFirstToken) this.#answer = reader.answerBlocks();
    return request;
  }

  #endDuplex(head: RequestHead, reader: BodyReader, contentLength: number | undefined): void {
    this.#ended = true;
    const request = this.#read(reader);
    const { edit } = reader;
    const body = editBody(edit, this.#withheld);
    this.#prepared(request, body, () => {
      const length = contentLength && contentLength + (edit === undefined ? 0 : byteGrowth(edit));
      this.#answerHeaders(this.#pick(head, request, length));
      // Trailers end the stream then, and without any body the proxy expects none back.
      const byTrailers = contentLength === undefined;
      if (!byTrailers || this.#bodyBytes > 0) this.#echo(body, !byTrailers);
      this.drop();
      if (byTrailers) this.#emit({ kind: 'answer-request-trailers' });
      else if (this.#halfCloses(request)) this.#emit({ kind: 'half-close' });
    });
  }

  /** The pick, once all that it needs is there: at once, if nothing has to be asked for. */
  #prepared(request: InferenceRequest, body: readonly Uint8Array[], pick: () => void): void {
    const { router } = this.#options;
    this.#preparing =
      router.prepare?.(
        request,
        body,
        () =>
          this.#resume(() => {
            this.#preparing = false;
            pick();
          }),
        { subset: this.#subset },
      ) ?? false;
    if (!this.#preparing) pick();
  }

  /** The whole body is one message, though not marked as the end when trailers follow; or the part of it that fitted. */
  #pickAtBody(head: RequestHead, reader: BodyReader, body: Buffer, endOfStream: boolean): void {
    this.#ended = true;
    const cutShort = this.#mode === BODY_MODE.bufferedPartial && !endOfStream && !reader.complete;
    const request = cutShort ? reader.peek() : this.#read(reader);
    const { edit } = reader;
    const replaced = edit && editBody(edit, [body]);
    this.#prepared(request, replaced ?? [body], () => {
      const pick = this.#pick(head, request, lengthAfter(edit, head));
      this.#emit({ kind: 'answer-request-body', pick, body: replaced });
    });
  }

  /** Nothing is answered until the pick, then every chunk at once. */
  #passChunk(head: RequestHead, reader: BodyReader, endOfStream: boolean): void {
    // The proxy holds trailers back until it has our answer: a body that is complete must not wait for its end.
    const enough = reader.complete || this.#bodyBytes >= this.#options.earlyPickBytes;
    if (endOfStream) this.#endStreamed(head, reader);
    else if (this.#routed !== undefined) this.#answerChunks();
    else if (enough) this.#pickEarly(head, reader, reader.peek());
  }

  #endStreamed(head: RequestHead, reader: BodyReader): void {
    this.#ended = true;
    const request = this.#read(reader);
    if (this.#routed === undefined) {
      this.#pickEarly(head, reader, request);
      return;
    }
    this.#checkEdit(reader);
    this.#routed.bodyRead(request);
    this.#answerChunks();
  }

  #pickAtHeaders(head: RequestHead, request: InferenceRequest): void {
    this.#prepared(request, [], () => this.#answerHeaders(this.#pick(head, request)));
  }

  #pickEarly(head: RequestHead, reader: BodyReader, request: InferenceRequest): void {
    const { edit } = reader;
    this.#passing.settle(edit);
    this.#prepared(request, [], () => {
      this.#answerHeaders(this.#pick(head, request, lengthAfter(edit, head)));
      this.#answerChunks();
    });
  }

  #answerChunks(): void {
    for (const body of this.#passing.release()) {
      this.#emit({ kind: 'answer-request-body', pick: undefined, body });
    }
  }

  /** A model that came after the pick may have left under the name that was to be replaced. */
  #checkEdit({ edit }: BodyReader): void {
    if (this.#passing.agrees(edit)) return;
    throw new RoutingError(
      'invalid-request',
      this.#pickTime === 'early'
        ? `field "model" comes after ${this.#options.earlyPickBytes} bytes or more, too late for another model to be put in its place: put it before the prompt`
        : 'another model is to be put in place of the one named, and this gateway shows the body only after it has left: use FULL_DUPLEX_STREAMED or BUFFERED',
    );
  }

  #answerHeaders(pick: PickMutation | undefined): void {
    this.#emit({ kind: 'answer-request-headers', pick });
  }

  #echo(body: readonly Uint8Array[], ends: boolean): void {
    const groups = chunked(body);
    for (const [index, pieces] of groups.entries()) {
      const endOfStream = ends && index === groups.length - 1;
      this.#emit({ kind: 'echo-request-body', pieces, endOfStream });
    }
  }

  #pick(head: RequestHead, request: InferenceRequest, contentLength?: number): PickMutation {
    const routed = this.#options.router.route(request, {
      subset: this.#subset,
      firstTokenSeen: this.#seesFirstToken && !this.#halfCloses(request),
      endSeen: !this.#halfCloses(request),
    });
    this.#routed = routed;
    return pickMutation(routed, head, contentLength);
  }

  /** Not where the answer has to be seen for its sake: it names a model the client did not ask for. */
  #halfCloses(request: InferenceRequest): boolean {
    const { halfCloseAfterPick } = this.#options;
    return halfCloseAfterPick && this.#pickTime === 'body-end' && !isRenamed(request);
  }
}

/** Of a body that leaves by itself: only where it is edited, and had one. */
function lengthAfter(edit: BodyEdit | undefined, { headers }: RequestHead): number | undefined {
  const announced = headers.get('content-length');
  if (edit === undefined || announced === undefined) return undefined;
  return Number(announced) + byteGrowth(edit);
}

function pickTimeOf({ requestBodyMode, sendsBodyWithoutWaiting }: ProtocolConfig): PickTime {
  switch (requestBodyMode) {
    case BODY_MODE.fullDuplex:
      return 'body-end';
    case BODY_MODE.buffered:
    case BODY_MODE.bufferedPartial:
      return 'body-message';
    case BODY_MODE.streamed:
      return sendsBodyWithoutWaiting ? 'early' : 'headers';
    default:
      return 'headers';
  }
}
