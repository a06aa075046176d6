import type { InferenceRequest } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import type { AnswerBlocks } from '../../openai/answers/answer-blocks.ts';
import type { UsageReader } from '../../openai/answers/usage-reader.ts';
import { byteGrowth, editBody } from '../../openai/body/body-edit.ts';
import type { BodyReader } from '../../openai/body/body-reader.ts';
import type { PickMutation, StreamAction } from '../codec/stream-action.ts';
import { BODY_MODE, type ProtocolConfig } from '../codec/stream-event.ts';
import type { ByteAccount } from '../streams/byte-account.ts';
import { KeptBody } from '../streams/kept-body.ts';
import type { StreamPhase } from '../streams/open-streams.ts';
import { echoBody, passChunk } from './echo-body.ts';
import { PassingBody } from './passing-body.ts';
import { isRenamed, pickMutation } from './pick-mutation.ts';
import { checkWhole, lateEdit, lengthAfter, type PickTime, pickTimeOf } from './pick-time.ts';
import { PickWait } from './pick-wait.ts';
import { type ReadRequest, readWithoutBody, type SessionHead } from './read-request.ts';
import type { RequestPhaseOptions } from './request-phase-options.ts';
import { answerWithEndpoint, asksForEndpoint } from './reservation.ts';

/** The request's half of a session: reads the body, has the router pick, and answers. */
export class RequestPhase {
  readonly #options: RequestPhaseOptions;
  readonly #emit: (action: StreamAction) => void;
  #mode: number = BODY_MODE.fullDuplex;
  #pickTime: PickTime = 'body-end';
  #seesFirstToken = true;
  #subset: readonly string[] | undefined;
  #head: SessionHead | undefined;
  #reader: BodyReader | undefined;
  /** What waits for the pick. */
  readonly #body: KeptBody;
  #bodyBytes = 0;
  readonly #passing: PassingBody;
  #ended = false;
  #asksForEndpoint = false;
  #routed: RoutedRequest | undefined;
  readonly #wait: PickWait;
  /** Hashes the answer; undefined where no observer learns from it. */
  answer: AnswerBlocks | undefined;
  /** Finds the usage in the answer. */
  usage: UsageReader | undefined;

  constructor(
    options: RequestPhaseOptions,
    emit: (action: StreamAction) => void,
    resume: (go: () => void) => void,
    account: ByteAccount,
  ) {
    this.#options = options;
    this.#emit = emit;
    this.#body = new KeptBody(account);
    this.#passing = new PassingBody(this.#body);
    this.#wait = new PickWait(options.router, {
      resume,
      pick: (read) => this.#pick(read),
      answer: (routed, read) => this.#answerPick(routed, read),
    });
  }

  get phase(): Exclude<StreamPhase, 'refused'> {
    if (this.#ended || this.#routed !== undefined || this.#wait.waits) return 'picked';
    return this.#pickTime === 'body-message' ? 'gathering' : 'uploading';
  }

  /** Events that come while the pick waits must wait, too. */
  get waits(): boolean {
    return this.#wait.waits;
  }

  get routed(): RoutedRequest | undefined {
    return this.#routed;
  }

  configure(protocol: ProtocolConfig): void {
    this.#mode = protocol.requestBodyMode;
    this.#pickTime = pickTimeOf(protocol);
    this.#seesFirstToken = protocol.responseBodyMode !== BODY_MODE.none;
  }

  allow(subset: readonly string[]): void {
    this.#subset = subset;
  }

  drop(): void {
    this.#wait.cancel();
    this.#body.free();
    this.#passing.drop();
    this.#reader = undefined;
  }

  // The three methods below pick themselves: the way from a message to a score stays short.

  /** Call it once. */
  onHeaders(head: SessionHead, endOfStream: boolean): void {
    this.#head = head;
    this.#asksForEndpoint = asksForEndpoint(head.headers, endOfStream, this.#options);
    let read: ReadRequest | undefined;
    if (endOfStream) {
      this.#ended = true;
      read = this.#readHeaders(head, readWithoutBody(head, this.#options));
    } else {
      const reader = this.#options.openBody(head);
      this.#reader = reader;
      this.usage = reader.usageReader();
      if (this.#pickTime === 'headers' || reader.unread === true) {
        this.#passing.settle(undefined);
        read = this.#readHeaders(head, reader.peek());
      } else if (this.#pickTime === 'body-message') this.#answerHeaders(undefined);
    }
    if (read !== undefined && !this.#wait.prepares(read, this.#subset)) this.#pick(read);
  }

  /** The chunk is valid during this call only. */
  onBody(chunk: Buffer, endOfStream: boolean): void {
    if (this.#ended) return;
    const head = this.#head;
    const reader = this.#reader;
    if (head === undefined || reader === undefined || reader.unread === true) {
      // Without headers there is nothing to pick for; what is not read was picked for at them.
      reader?.push(chunk);
      passChunk(this.#emit, chunk, endOfStream, this.#mode);
      if (endOfStream) this.#endUnread(reader, 'by-chunk');
      return;
    }
    this.#bodyBytes += chunk.length;
    reader.push(chunk);
    const passes = this.#pickTime === 'headers' || this.#pickTime === 'early';
    (passes ? this.#passing : this.#body).add(chunk);
    let read: ReadRequest | undefined;
    if (passes) read = this.#readPassing(head, reader, endOfStream);
    else if (this.#pickTime === 'body-message') read = this.#readMessage(head, reader, endOfStream);
    else if (endOfStream) read = this.#readDuplex(head, reader, this.#bodyBytes);
    if (read !== undefined && !this.#wait.prepares(read, this.#subset)) this.#pick(read);
  }

  /** Trailers complete the body. Where it was complete already, or never came, they only pass. */
  onTrailers(): void {
    const head = this.#head;
    const reader = this.#reader;
    let read: ReadRequest | undefined;
    if (!this.#ended && reader?.unread === true) this.#endUnread(reader, 'by-trailers');
    else if (!this.#ended && head !== undefined && reader !== undefined) {
      const duplex = this.#pickTime === 'body-end';
      read = duplex ? this.#readDuplex(head, reader, undefined) : this.#readEnd(head, reader);
      if (read !== undefined && !this.#wait.prepares(read, this.#subset)) this.#pick(read);
      // The pick answers the trailers, too.
      if (duplex) return;
    }
    this.#ended = true;
    this.#emit({ kind: 'answer-request-trailers' });
  }

  #endUnread(reader: BodyReader | undefined, end: 'by-chunk' | 'by-trailers'): void {
    this.#ended = true;
    const request = reader?.end();
    if (request === undefined) return;
    // The pick was made by the announced size.
    if (request.bodyBytes !== this.#routed?.request.bodyBytes) this.#routed?.bodyRead(request);
    if (end === 'by-chunk' && this.#halfCloses(request)) this.#emit({ kind: 'half-close' });
  }

  #pick(read: ReadRequest): void {
    const { router, emitEndpointScores: scoresWanted } = this.#options;
    const unseen = this.#asksForEndpoint || this.#halfCloses(read.request);
    const options = {
      scoresWanted,
      subset: this.#subset,
      firstTokenSeen: this.#seesFirstToken && !unseen,
      endSeen: !unseen,
    };
    const routed = router.enqueue
      ? router.enqueue(read.request, options, this.#wait)
      : router.route(read.request, options);
    if (routed === undefined) this.#wait.hold(read);
    else this.#answerPick(routed, read);
  }

  #answerPick(routed: RoutedRequest, { head, contentLength, answer }: ReadRequest): void {
    this.#routed = routed;
    this.#reader?.routedTo?.(routed.endpoint);
    this.#body.uncount();
    if (this.#asksForEndpoint) return answerWithEndpoint(routed, this.#emit);
    const { emitEndpointScores: withScores } = this.#options;
    answer(pickMutation(routed, head, { contentLength, withScores }));
  }

  #readHeaders(head: SessionHead, request: InferenceRequest): ReadRequest {
    const answer = (pick: PickMutation): void => this.#answerHeaders(pick);
    return { head, request, body: [], contentLength: undefined, answer };
  }

  #read(head: SessionHead, reader: BodyReader): InferenceRequest {
    checkWhole(head, this.#bodyBytes);
    const request = reader.end();
    if (this.#seesFirstToken) this.answer = reader.answerBlocks();
    return request;
  }

  /** Without a length the body was ended by trailers. */
  #readDuplex(head: SessionHead, reader: BodyReader, bodyBytes: number | undefined): ReadRequest {
    this.#ended = true;
    const request = this.#read(head, reader);
    const { edit } = reader;
    const body = editBody(edit, this.#body.pieces);
    const contentLength = bodyBytes && bodyBytes + (edit === undefined ? 0 : byteGrowth(edit));
    const byTrailers = bodyBytes === undefined;
    const answer = (pick: PickMutation): void => {
      this.#answerHeaders(pick);
      // Trailers end the stream then, and without any body the proxy expects none back.
      if (!byTrailers || this.#bodyBytes > 0)
        echoBody(this.#emit, 'echo-request-body', body, !byTrailers, {
          memory: this.#body.handOver(),
        });
      this.drop();
      if (byTrailers) this.#emit({ kind: 'answer-request-trailers' });
      else if (this.#halfCloses(request)) this.#emit({ kind: 'half-close' });
    };
    return { head, request, body, contentLength, answer };
  }

  /** One message holds the body, or what fitted; with trailers it is not marked as the end. */
  #readMessage(head: SessionHead, reader: BodyReader, endOfStream: boolean): ReadRequest {
    this.#ended = true;
    const cutShort = this.#mode === BODY_MODE.bufferedPartial && !endOfStream && !reader.complete;
    const request = cutShort ? reader.peek() : this.#read(head, reader);
    const { edit } = reader;
    const body = editBody(edit, this.#body.pieces);
    const answer = (pick: PickMutation): void => {
      const replaced = edit && body;
      const memory = this.#body.handOver();
      this.#emit({ kind: 'answer-request-body', pick, body: replaced, memory });
    };
    return { head, request, body, contentLength: lengthAfter(edit, head), answer };
  }

  /** Nothing is answered until the pick, then every chunk at once. */
  #readPassing(
    head: SessionHead,
    reader: BodyReader,
    endOfStream: boolean,
  ): ReadRequest | undefined {
    if (endOfStream) return this.#readEnd(head, reader);
    if (this.#routed !== undefined) {
      this.#answerChunks();
      return undefined;
    }
    // The proxy holds trailers back until our answer: a complete body must not wait for them.
    const enough = reader.complete || this.#bodyBytes >= this.#options.earlyPickBytes;
    return enough ? this.#readEarly(head, reader, reader.peek()) : undefined;
  }

  #readEnd(head: SessionHead, reader: BodyReader): ReadRequest | undefined {
    this.#ended = true;
    const request = this.#read(head, reader);
    if (this.#routed === undefined) return this.#readEarly(head, reader, request);
    this.#checkEdit(reader);
    this.#routed.bodyRead(request);
    this.#answerChunks();
    return undefined;
  }

  #readEarly(head: SessionHead, { edit }: BodyReader, request: InferenceRequest): ReadRequest {
    this.#passing.settle(edit);
    const answer = (pick: PickMutation): void => {
      this.#answerHeaders(pick);
      this.#answerChunks();
    };
    return { head, request, body: [], contentLength: lengthAfter(edit, head), answer };
  }

  #answerChunks(): void {
    for (const body of this.#passing.release()) {
      this.#emit({ kind: 'answer-request-body', pick: undefined, body });
    }
  }

  /** A field that came after the pick may have left before it could be replaced. */
  #checkEdit({ edit }: BodyReader): void {
    const missed = this.#passing.missed(edit);
    if (missed === undefined) return;
    throw lateEdit(missed.field, this.#pickTime, this.#options.earlyPickBytes);
  }

  #answerHeaders(pick: PickMutation | undefined): void {
    this.#emit({ kind: 'answer-request-headers', pick });
  }

  /** A renamed model has to be restored in the answer, which must be seen then. */
  #halfCloses(request: InferenceRequest): boolean {
    const { halfCloseAfterPick } = this.#options;
    return halfCloseAfterPick && this.#pickTime === 'body-end' && !isRenamed(request);
  }
}
