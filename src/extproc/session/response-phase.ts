import type { ReportedValue, Usage } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import { onlyAccepts } from '../../openai/answers/accepting-events.ts';
import type { AnswerBlocks } from '../../openai/answers/answer-blocks.ts';
import {
  type AnswerText,
  answerTextFor,
  isUncompressed,
  mustBeJson,
  saysEventStream,
} from '../../openai/answers/answer-text.ts';
import { ModelRestorer } from '../../openai/answers/model-restorer.ts';
import { RefusedWindow } from '../../openai/answers/refused-window.ts';
import { usageReaderOf } from '../../openai/answers/sound-usage.ts';
import type { UsageReader } from '../../openai/answers/usage-reader.ts';
import { echoBody } from '../codec/echo-body.ts';
import type { HeaderBlock } from '../codec/header-block.ts';
import type { StreamAction } from '../codec/stream-action.ts';
import { BODY_MODE, type CloseReason } from '../codec/stream-event.ts';
import { isServerFailure } from './grpc-status.ts';
import { isRenamed } from './pick-mutation.ts';
import { REPORT_HEADER, readLoadReport } from './read-load-report.ts';
import type { SessionRules } from './session-rules.ts';

const CLIENT_ERROR = 400;
const SERVER_ERROR = 500;
const TEXTUAL = /json|event-stream|^$/i;

/** What reads the answer to a request; taken when the answer's headers come. */
export interface AnswerReaders {
  /** Hashes the answer; undefined where no observer learns from it. */
  readonly responseBlocks: AnswerBlocks | undefined;
  /** Finds the usage in the answer; undefined where the request did not come. */
  readonly usage: UsageReader | undefined;
}

type ResponsePhaseOptions = Pick<SessionRules, 'asksLoadReports'>;

/**
 * The response's half of a session: passes everything at once, with the model under the client's
 * name for it, and reports the response's begin, end and token usage.
 */
export class ResponsePhase {
  readonly #emit: (action: StreamAction) => void;
  readonly #asksLoadReports: boolean;
  #usage: UsageReader | undefined;
  #mode: number = BODY_MODE.fullDuplex;
  #status: number | undefined;
  /** By gRPC's status, whatever HTTP's is. */
  #grpcFailed = false;
  #bodyBytes: number | undefined;
  /** What the end of the answer's text must be like; undefined where it cannot be looked at. */
  #endsLike: 'events' | 'json' | undefined;
  /** Its text lacks its end, or says that the server has failed. */
  #textFailed = false;
  /** The proxy has said that the server broke it off. */
  #cut = false;
  #restorer: ModelRestorer | undefined;
  #text: AnswerText | undefined;
  /** Reads an answer that refuses the request. */
  #refused: RefusedWindow | undefined;
  /** The usage, where it was needed before the end of the answer was passed on. */
  #reportedUsage: Usage | undefined;

  constructor(
    emit: (action: StreamAction) => void,
    { asksLoadReports = false }: ResponsePhaseOptions = {},
  ) {
    this.#emit = emit;
    this.#asksLoadReports = asksLoadReports;
  }

  /** Undefined until its headers have come. */
  get status(): number | undefined {
    return this.#status;
  }

  configure(mode: number): void {
    this.#mode = mode;
  }

  /** The proxy says that the server has broken off the answer. */
  answerCut(): void {
    this.#cut = true;
  }

  /**
   * The stream is over, which looks the same whether the client left or the endpoint broke off,
   * unless the access log has said. That is the response’s end, too, where its headers came and its
   * body is not sent.
   */
  closed(reason: CloseReason, routed: RoutedRequest | undefined): void {
    if (this.#cut) routed?.done('failed', undefined, this.#bodyBytes, this.#status);
    else if (this.#status !== undefined && this.#mode === BODY_MODE.none) this.complete(routed);
    else
      routed?.done(reason === 'failed' ? 'failed' : 'aborted', undefined, undefined, this.#status);
  }

  onHeaders(
    { headers, endOfStream }: { readonly headers: HeaderBlock; readonly endOfStream: boolean },
    routed: RoutedRequest | undefined,
    { responseBlocks, usage }: AnswerReaders,
  ): void {
    this.#usage = usageReaderOf(headers, usage);
    this.#status = Number(headers.get(':status') ?? 200);
    const streams = this.#status < CLIENT_ERROR && this.#mode !== BODY_MODE.none;
    if (this.#status === CLIENT_ERROR && isUncompressed(headers))
      this.#refused = new RefusedWindow();
    const isEventStream = saysEventStream(headers);
    if (streams && isUncompressed(headers)) {
      if (isEventStream) this.#endsLike = 'events';
      else if (mustBeJson(this.#status, headers, endOfStream)) this.#endsLike = 'json';
    }
    if (isEventStream) routed?.streams?.();
    const reported = this.#asksLoadReports ? headers.get(REPORT_HEADER) : undefined;
    const report = reported === undefined ? undefined : readLoadReport(reported);
    if (report !== undefined) routed?.loadReported?.(report);
    const setHeaders = [...(routed?.responseHeaders() ?? [])];
    if (!endOfStream && this.#mode !== BODY_MODE.none) {
      this.#restorer = restorerFor(headers, routed?.request);
      if (routed?.wantsAnswer === true) this.#text = answerTextFor(headers, responseBlocks);
    }
    // Restoring names changes the length, which is not known before the end.
    let removeHeaders = this.#restorer === undefined ? undefined : ['content-length'];
    // The client did not ask for it, and must not see how busy the servers are.
    if (reported !== undefined) removeHeaders = [...(removeHeaders ?? []), REPORT_HEADER];
    this.#emit({ kind: 'answer-response-headers', setHeaders, removeHeaders });
    if (!endOfStream) return;
    // An error without an answer has gRPC's status here; that of a proxy has, too.
    this.#grpcFailed = isServerFailure(headers.get('grpc-status'));
    this.complete(routed);
  }

  onBody(chunk: Buffer, endOfStream: boolean, routed: RoutedRequest | undefined): void {
    const restored = this.#restored(chunk, endOfStream);
    const reports = endOfStream && routed?.responseMetadata !== undefined;
    const metadata = reports ? this.#reported(routed, chunk) : undefined;
    if (this.#mode === BODY_MODE.fullDuplex) this.#echo(restored ?? [chunk], endOfStream, metadata);
    else this.#emit({ kind: 'answer-response-body', body: restored, metadata });
    if (routed === undefined) return;
    this.#bodyBytes = (this.#bodyBytes ?? 0) + chunk.length;
    // The text of an error is no token: how fast it came says nothing about the engine.
    const answers = chunk.length > 0 && (this.#status ?? 200) < CLIENT_ERROR;
    if (answers && !onlyAccepts(chunk)) routed.firstToken();
    if (!reports) this.#usage?.push(chunk);
    this.#text?.push(chunk);
    this.#refused?.push(chunk);
    if (endOfStream) this.complete(routed);
  }

  onTrailers(trailers: HeaderBlock, routed: RoutedRequest | undefined): void {
    this.#grpcFailed = isServerFailure(trailers.get('grpc-status'));
    const held = this.#restorer?.end() ?? [];
    if (held.length > 0 && this.#mode === BODY_MODE.fullDuplex) this.#echo(held, false);
    this.#emit({ kind: 'answer-response-trailers', metadata: this.#reported(routed) });
    this.complete(routed);
  }

  /** The answer is over: reports its usage, text and outcome, and with it releases the request. */
  complete(routed: RoutedRequest | undefined): void {
    const usage = this.#reportedUsage ?? this.#takeUsage();
    const failed = (this.#status ?? 200) >= SERVER_ERROR || this.#grpcFailed || this.#textFailed;
    const windowTokens = this.#refused?.end();
    this.#refused = undefined;
    if (windowTokens !== undefined) routed?.windowReported?.(windowTokens);
    const conversation = this.#text?.end();
    this.#text = undefined;
    if (conversation !== undefined) routed?.answered(conversation);
    routed?.done(failed ? 'failed' : 'completed', usage, this.#bodyBytes, this.#status);
  }

  /** What plugins report of the answer, whose last chunk this is. */
  #reported(
    routed: RoutedRequest | undefined,
    last?: Buffer,
  ): readonly ReportedValue[] | undefined {
    const report = routed?.responseMetadata;
    if (report === undefined) return undefined;
    if (last !== undefined) this.#usage?.push(last);
    this.#reportedUsage = this.#takeUsage();
    const values = report(this.#reportedUsage);
    return values.length === 0 ? undefined : values;
  }

  /**
   * Reads the usage at the end of the answer, once. Where the client has left, there is no such
   * end.
   */
  #takeUsage(): Usage | undefined {
    const reader = this.#usage;
    this.#usage = undefined;
    if (reader === undefined) return undefined;
    this.#textFailed = this.#endsLike !== undefined && reader.hasFailed?.(this.#endsLike) === true;
    return reader.take();
  }

  #restored(chunk: Buffer, ends: boolean): readonly Uint8Array[] | undefined {
    if (this.#restorer === undefined) return undefined;
    const passed = this.#restorer.push(chunk);
    return ends ? [...passed, ...this.#restorer.end()] : passed;
  }

  #echo(body: readonly Uint8Array[], ends: boolean, metadata?: readonly ReportedValue[]): void {
    // The restorer holds all of it back: the next piece carries it.
    if (body.length === 0 && !ends) return;
    echoBody(this.#emit, 'echo-response-body', body, ends, metadata && { metadata });
  }
}

/** For the answer to a renamed request, if it is uncompressed text that can name a model. */
function restorerFor(
  headers: HeaderBlock,
  request: InferenceRequest | undefined,
): ModelRestorer | undefined {
  const requested = request?.rewrite?.requestedModel ?? '';
  if (request === undefined || !isRenamed(request) || requested === '') return undefined;
  const contentType = headers.get('content-type') ?? '';
  if (!TEXTUAL.test(contentType) || !isUncompressed(headers)) return undefined;
  const eventStream = contentType.includes('event-stream');
  return new ModelRestorer({ served: request.model, requested, eventStream });
}
