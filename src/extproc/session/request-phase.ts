import type { InferenceRequest } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import type { AnswerBlocks } from '../../openai/answers/answer-blocks.ts';
import type { UsageReader } from '../../openai/answers/usage-reader.ts';
import type { BodyReader } from '../../openai/body/body-reader.ts';
import { passChunk } from '../codec/echo-body.ts';
import type { StreamAction } from '../codec/stream-action.ts';
import { BODY_MODE, DEFAULT_PROTOCOL, type ProtocolConfig } from '../codec/stream-event.ts';
import { BodyReading } from '../request-body/body-reading.ts';
import { DuplexBody } from '../request-body/duplex-body.ts';
import { MessageBody } from '../request-body/message-body.ts';
import { type ReadRequest, readAtHeaders, type SessionHead } from '../request-body/read-request.ts';
import type { RequestBody } from '../request-body/request-body.ts';
import { SkippedBody } from '../request-body/skipped-body.ts';
import { StreamedBody } from '../request-body/streamed-body.ts';
import type { ByteAccount } from '../streams/byte-account.ts';
import { isRenamed } from './pick-mutation.ts';
import type { AnswerReaders } from './response-phase.ts';
import type { SessionRules } from './session-rules.ts';

/**
 * The request's half of a session: reads what comes, and answers it. One call returns the request:
 * then it is to be picked, and nothing more is to be given to this until the pick is made.
 */
export class RequestPhase {
  readonly #options: SessionRules;
  readonly #emit: (action: StreamAction) => void;
  readonly #account: ByteAccount;
  #protocol = DEFAULT_PROTOCOL;
  /** Undefined where none comes, or nothing of it is needed any more. */
  #body: RequestBody | undefined;
  #ended = false;
  #responseBlocks: AnswerBlocks | undefined;
  #usage: UsageReader | undefined;

  constructor(options: SessionRules, emit: (action: StreamAction) => void, account: ByteAccount) {
    this.#options = options;
    this.#emit = emit;
    this.#account = account;
  }

  /** Whether all of the request has come. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Whether the proxy gathers the body before it sends it. */
  get gathers(): boolean {
    return isOneMessage(this.#protocol);
  }

  /** For its answer, once that begins. */
  get answerReaders(): AnswerReaders {
    return { responseBlocks: this.#responseBlocks, usage: this.#usage };
  }

  configure(protocol: ProtocolConfig): void {
    this.#protocol = protocol;
  }

  /** Call it once. */
  onHeaders(head: SessionHead, endOfStream: boolean): ReadRequest | undefined {
    if (endOfStream) {
      this.#ended = true;
      const parts = { emit: this.#emit, halfCloses: this.#halfCloses };
      const request = this.#options.headerOnly(head);
      return { ...readAtHeaders(head, request, parts), withoutBody: true };
    }
    const reader = this.#options.openBody(head);
    this.#usage = reader.usageReader();
    this.#body = this.#bodyOf(head, reader);
    return this.#body.onHeaders();
  }

  /** The chunk is valid during this call only. */
  onBody(chunk: Buffer, endOfStream: boolean): ReadRequest | undefined {
    if (this.#ended) return undefined;
    const body = this.#body;
    this.#ended = endOfStream || body?.isOneMessage === true;
    if (body !== undefined) return body.onChunk(chunk, endOfStream);
    // Without headers there is nothing to pick for.
    passChunk(this.#emit, chunk, endOfStream, this.#protocol.requestBodyMode);
    return undefined;
  }

  /** Trailers complete the body. Where it was complete already, or never came, they only pass. */
  onTrailers(): ReadRequest | undefined {
    const read = this.#ended ? undefined : this.#body?.onTrailers();
    this.#ended = true;
    // The answer to a pick answers the trailers, too.
    if (read === undefined) this.#emit({ kind: 'answer-request-trailers' });
    return read;
  }

  /** The pick is made; the request's answer comes next. */
  onRouted(routed: RoutedRequest): void {
    this.#body?.onRouted(routed);
  }

  /** Frees what is kept of the body. */
  drop(): void {
    this.#body?.drop();
    this.#body = undefined;
  }

  #bodyOf(head: SessionHead, reader: BodyReader): RequestBody {
    const emit = this.#emit;
    const halfCloses = this.#halfCloses;
    const { requestBodyMode, responseBodyMode, sendsBodyWithoutWaiting } = this.#protocol;
    if (reader.unread === true) {
      return new SkippedBody({ head, reader, emit, halfCloses, requestBodyMode });
    }
    const seesTokens = responseBodyMode !== BODY_MODE.none;
    const keepAnswerBlocks = (blocks: AnswerBlocks | undefined): void => {
      this.#responseBlocks = blocks;
    };
    const reading = new BodyReading({
      head,
      reader,
      keepAnswerBlocks: seesTokens ? keepAnswerBlocks : undefined,
    });
    const onOver = (): void => this.drop();
    const parts = { reading, emit, account: this.#account, halfCloses, onOver };
    if (requestBodyMode === BODY_MODE.fullDuplex) return new DuplexBody(parts);
    const mayBeCut = requestBodyMode === BODY_MODE.bufferedPartial;
    if (isOneMessage(this.#protocol)) return new MessageBody(parts, { mayBeCut });
    const early = requestBodyMode === BODY_MODE.streamed && sendsBodyWithoutWaiting;
    return new StreamedBody(parts, early ? this.#options.earlyPickBytes : undefined);
  }

  /** A renamed model has to be restored in the answer, which must be seen then. */
  readonly #halfCloses = (request: InferenceRequest): boolean =>
    this.#options.halfCloseAfterPick &&
    this.#protocol.requestBodyMode === BODY_MODE.fullDuplex &&
    !isRenamed(request);
}

function isOneMessage({ requestBodyMode }: ProtocolConfig): boolean {
  return requestBodyMode === BODY_MODE.buffered || requestBodyMode === BODY_MODE.bufferedPartial;
}
