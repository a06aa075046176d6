import type { Dispatcher } from 'undici';
import type { Clock } from '../framework/runtime.ts';
import { endUpload, type FrontExchange } from '../runtime/network/server/http-front.ts';
import { mergedPieces } from '../runtime/network/server/merged-pieces.ts';
import { breakOff, passAnswer } from '../runtime/network/server/pass-answer.ts';
import type { ExchangeLimits } from './exchange-limits.ts';
import type { ProcessingRequest } from './ext-proc-client.ts';
import type { GatewayBounds } from './gateway-bounds.ts';
import type { HeaderPair } from './header-mutation.ts';
import type { PickerStream } from './picker-stream.ts';
import { requestHead, requestHeaders } from './wire-messages.ts';

interface ExchangeClientOptions extends FrontExchange {
  readonly clock: Clock;
  readonly bounds: GatewayBounds;
  readonly limits: ExchangeLimits;
}

/** The client's side of one request: what it sends, and what it gets, as fast as it reads. */
export class ExchangeClient {
  /** The headers of its request that are meant for the endpoint. */
  readonly headers: readonly HeaderPair[];
  readonly requestId: string;
  readonly hasBody: boolean;
  readonly #options: ExchangeClientOptions;

  constructor(options: ExchangeClientOptions) {
    const { request } = options;
    this.#options = options;
    const { headers, requestId } = requestHeaders(request);
    this.headers = headers;
    this.requestId = requestId;
    this.hasBody =
      'transfer-encoding' in request.headers || Number(request.headers['content-length'] ?? 0) > 0;
  }

  /** Calls `onGone` when its connection closes, and when the answer has been sent. */
  watch(onGone: () => void): void {
    const { response, signal } = this.#options;
    response.on('close', onGone);
    signal.addEventListener('abort', onGone);
  }

  /** The first message about its request. */
  head(): ProcessingRequest {
    return requestHead(this.#options.request, this.headers, this.hasBody);
  }

  /** The pieces of its body. The time limits run while the next one is awaited. */
  async *body(): AsyncGenerator<Buffer> {
    const { upload, uploadIdle } = this.#options.limits;
    upload.restart();
    uploadIdle.restart();
    for await (const piece of mergedPieces(this.#options.request)) {
      uploadIdle.pause();
      yield piece;
      uploadIdle.restart();
    }
    upload.stop();
    uploadIdle.stop();
  }

  /** What is left of its body is read and dropped for a moment; see `endUpload` of the front. */
  endUpload(): void {
    const { request, response, clock } = this.#options;
    endUpload(request, response, clock);
  }

  /** Whether it has got the head of an answer. */
  get isAnswered(): boolean {
    return this.#options.response.headersSent;
  }

  /** Whether it gets nothing more. */
  get isAnsweredInFull(): boolean {
    return this.#options.response.writableEnded;
  }

  /** Answers in place of an endpoint, or breaks off an answer that has begun. */
  answerItself(
    status: number,
    headers: readonly HeaderPair[],
    body: string | Buffer | undefined,
  ): void {
    const { response } = this.#options;
    if (response.headersSent) breakOff(response);
    else {
      this.endUpload();
      response.writeHead(status, headers.flat());
      response.end(body);
    }
  }

  /** Sends the head of an answer at once, before there is any of its body. */
  sendHead(status: number, headers: readonly HeaderPair[]): void {
    const { response } = this.#options;
    response.writeHead(status, headers.flat());
    response.flushHeaders();
  }

  /** Sends a piece of an answer. The picker is not read until the client takes more. */
  send(piece: Buffer, picker: PickerStream): void {
    const { response, limits } = this.#options;
    if (response.write(piece)) return;
    limits.client.restart();
    picker.pauseUntilDrained(response, () => limits.client.pause());
  }

  /** Ends an answer. The time for reading it runs until the client has all. */
  finish(trailers: [name: string, value: string][]): void {
    const { response, limits } = this.#options;
    response.addTrailers(trailers);
    response.end();
    if (!response.writableFinished) limits.client.restart();
  }

  /** Sends the body of an endpoint's answer, which does not pass through the picker. */
  passBody(upstream: Dispatcher.ResponseData, signal: AbortSignal): Promise<void> {
    const { response, bounds, clock } = this.#options;
    return passAnswer(upstream, { ...bounds, response, clock, signal });
  }
}
