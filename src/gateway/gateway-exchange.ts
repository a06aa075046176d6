import type { Dispatcher } from 'undici';
import type { Clock } from '../framework/runtime.ts';
import type { FrontExchange } from '../runtime/network/server/http-front.ts';
import { askEndpoints } from './ask-endpoints.ts';
import type { CutAnswers } from './cut-answers.ts';
import { ExchangeClient } from './exchange-client.ts';
import { ExchangeLimits } from './exchange-limits.ts';
import type { ExtProcClient, ProcessingRequest, ProcessingResponse } from './ext-proc-client.ts';
import type { GatewayBounds } from './gateway-bounds.ts';
import { applyMutation, type HeaderPair } from './header-mutation.ts';
import { PickerStream } from './picker-stream.ts';
import { type KeptBytes, SentBody } from './sent-body.ts';
import {
  endpointFailure,
  errorBody,
  ownHead,
  pickerFailure,
  responseEnd,
  responseHead,
  responseHeaders,
  responseTrailers,
} from './wire-messages.ts';

/** What all exchanges of a gateway share. */
export interface ExchangeParts {
  readonly extProc: ExtProcClient;
  readonly cutAnswers: CutAnswers;
  readonly upstreams: Dispatcher;
  readonly bounds: GatewayBounds;
  readonly clock: Clock;
  readonly keptBytes: KeptBytes;
  /** Called when a request goes to the next endpoint, with why. */
  readonly onFallback: (address: string, why: string) => void;
}

type ExchangeOptions = FrontExchange & ExchangeParts;

/** One HTTP request: to the picker in full duplex, to a picked endpoint, and back. */
export class GatewayExchange {
  readonly #options: ExchangeOptions;
  readonly #picker: PickerStream;
  readonly #abort = new AbortController();
  readonly #toUpstream: SentBody;
  readonly #client: ExchangeClient;
  readonly #limits: ExchangeLimits;
  #headReturned = false;
  #requestReturned = false;
  #onHeadAnswered = (): void => undefined;
  #upstream: Dispatcher.ResponseData | undefined;
  /** The endpoint that was asked last, unless that is the picker's first choice. */
  #fallback: string | undefined;
  #over = false;

  constructor(options: ExchangeOptions) {
    const { extProc, cutAnswers, bounds, keptBytes } = options;
    this.#options = options;
    this.#toUpstream = new SentBody({ bytesMax: bounds.retryBodyBytes, all: keptBytes });
    this.#limits = new ExchangeLimits({
      ...options,
      onPassed: (status, sentence) => this.#fail(status, sentence),
    });
    this.#client = new ExchangeClient({ ...options, limits: this.#limits });
    this.#picker = new PickerStream(extProc.process(), {
      requestId: this.#client.requestId,
      cutAnswers,
      limits: this.#limits,
      signal: this.#abort.signal,
      onAnswer: (answer) => this.#onAnswer(answer),
      // The answer may have a header that HTTP does not allow, for example.
      onUnusable: (error) =>
        this.#fail(502, `the endpoint picker's answer cannot be used: ${String(error)}`),
      onFailed: (error) => this.#fail(503, pickerFailure(error)),
      onEnded: () => this.#onPickerEnded(),
    });
    this.#client.watch(() => this.#end());
  }

  async run(): Promise<void> {
    this.#picker.open(this.#client.head());
    if (this.#client.hasBody) await this.#sendBody();
    if (!this.#requestReturned && !this.#over) this.#limits.pickerAsked('request');
  }

  async #sendBody(): Promise<void> {
    for await (const body of this.#client.body()) {
      await this.#picker.write({ request_body: { body, end_of_stream: false } });
      if (this.#over) return;
    }
    await this.#picker.write({ request_body: { body: Buffer.alloc(0), end_of_stream: true } });
  }

  /** Answers with an error of the gateway. */
  #fail(status: number, sentence: string): void {
    if (this.#over) return;
    const headers: readonly HeaderPair[] = [['content-type', 'application/json']];
    this.#answerItself(status, headers, errorBody(status, sentence));
  }

  /** Answers in place of an endpoint, or breaks off a response that has begun. */
  #answerItself(
    status: number,
    headers: readonly HeaderPair[],
    body: string | Buffer | undefined,
  ): void {
    this.#client.answerItself(status, headers, body);
    this.#end();
  }

  /** Ends the parts towards the picker and the endpoint. */
  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#limits.stop();
    this.#picker.cancel();
    this.#abort.abort();
    this.#toUpstream.destroy();
    this.#onHeadAnswered();
    this.#client.endUpload();
  }

  #onAnswer(answer: ProcessingResponse): void {
    if (answer.immediate_response !== undefined) this.#reject(answer.immediate_response);
    else if (answer.request_headers !== undefined) {
      const headers = applyMutation(
        this.#client.headers,
        answer.request_headers.response?.header_mutation,
      );
      this.#headReturned = true;
      if (!this.#client.hasBody) this.#onRequestReturned();
      this.#forward(headers).catch((error: unknown) => this.#answerFor(error));
    } else if (answer.request_body !== undefined) this.#passRequestBody(answer.request_body);
    else if (answer.response_headers !== undefined) {
      this.#limits.pickerAnswered('response');
      this.#sendHead(answer.response_headers.response?.header_mutation);
      this.#onHeadAnswered();
    } else if (answer.response_body !== undefined) this.#passResponseBody(answer.response_body);
    else if (answer.response_trailers !== undefined) this.#finish();
  }

  #reject({ status, headers, body }: NonNullable<ProcessingResponse['immediate_response']>): void {
    this.#answerItself(status?.code ?? 500, applyMutation([], headers), body);
  }

  #passRequestBody({ response }: NonNullable<ProcessingResponse['request_body']>): void {
    // Without headers no endpoint would be asked, and no time limit would end the request.
    if (!this.#headReturned) throw new Error('it has a body before its headers');
    if (this.#requestReturned) throw new Error('it has a body after its end');
    const { body, end_of_stream: last } = response?.body_mutation?.streamed_response ?? {};
    if (body !== undefined && body.length > 0 && !this.#toUpstream.write(body)) {
      this.#picker.pauseUntilDrained(this.#toUpstream, () => undefined);
    }
    if (last !== true) return;
    this.#toUpstream.end();
    this.#onRequestReturned();
  }

  #onRequestReturned(): void {
    this.#requestReturned = true;
    this.#limits.pickerAnswered('request');
  }

  async #forward(headers: readonly HeaderPair[]): Promise<void> {
    const { onFallback } = this.#options;
    const upstream = await askEndpoints({
      ...this.#options,
      headers,
      body: this.#client.hasBody ? this.#toUpstream : undefined,
      signal: this.#abort.signal,
      onAsk: (address, why) => {
        if (why === undefined) return;
        this.#fallback = address;
        onFallback(address, why);
      },
    });
    this.#upstream = upstream;
    upstream.body.on('error', () => {
      this.#picker.answerIsCut = true;
      this.#fail(502, 'the picked endpoint closed the connection before its response ended');
    });
    if (this.#picker.hasLeft) await this.#passResponse(upstream);
    else await this.#askPicker(upstream);
  }

  /** Answers for an endpoint that did not. The picker learns of it, as it does from Envoy. */
  async #answerFor(error: unknown): Promise<void> {
    const { status, sentence } = endpointFailure(error);
    if (!this.#picker.hasLeft && this.#upstream === undefined)
      await this.#tellHead(ownHead(status, this.#fallback));
    this.#fail(status, sentence);
  }

  /** Resolves when the picker has answered the head of a response, or has ended its stream. */
  async #tellHead(head: ProcessingRequest): Promise<void> {
    this.#limits.pickerAsked('response');
    const answered = Promise.withResolvers<void>();
    this.#onHeadAnswered = answered.resolve;
    await this.#picker.write(head);
    if (!this.#over) await answered.promise;
  }

  /** Sends the response through the picker. */
  async #askPicker(upstream: Dispatcher.ResponseData): Promise<void> {
    const { endpointIdle } = this.#limits;
    await this.#tellHead(responseHead(upstream, this.#fallback));
    // A picker that ends its stream instead gets nothing of the body, which would be lost.
    if (this.#over) return;
    if (this.#picker.hasLeft) return await this.#passResponse(upstream);
    endpointIdle.restart();
    for await (const chunk of upstream.body) {
      endpointIdle.pause();
      await this.#picker.write({ response_body: { body: chunk as Buffer, end_of_stream: false } });
      if (this.#over) return;
      endpointIdle.restart();
    }
    endpointIdle.stop();
    this.#limits.pickerAsked('end');
    await this.#picker.write(responseEnd(upstream));
  }

  #sendHead(mutation: Parameters<typeof applyMutation>[1]): void {
    if (this.#upstream === undefined || this.#client.isAnswered) return;
    const headers = applyMutation(responseHeaders(this.#upstream), mutation);
    this.#client.sendHead(this.#upstream.statusCode, headers);
  }

  #passResponseBody({ response }: NonNullable<ProcessingResponse['response_body']>): void {
    const { body, end_of_stream: last } = response?.body_mutation?.streamed_response ?? {};
    if (body !== undefined && body.length > 0) this.#client.send(body, this.#picker);
    if (last === true) this.#finish();
  }

  #finish(): void {
    this.#limits.pickerAnswered('end');
    this.#client.finish(this.#upstream === undefined ? [] : responseTrailers(this.#upstream));
    if (!this.#over) this.#picker.end();
  }

  /** The picker has ended its stream without an error. */
  #onPickerEnded(): void {
    if (this.#over || this.#client.isAnsweredInFull) return;
    if (!this.#requestReturned) {
      this.#fail(503, 'the endpoint picker ended its stream before the request');
    } else if (this.#client.isAnswered) {
      // Parts of the response were on their way through the picker.
      this.#fail(502, 'the endpoint picker ended its stream within the response');
    } else {
      this.#picker.hasLeft = true;
      this.#limits.pickerAnswered('response');
      this.#onHeadAnswered();
    }
  }

  async #passResponse(upstream: Dispatcher.ResponseData): Promise<void> {
    this.#sendHead(undefined);
    await this.#client.passBody(upstream, this.#abort.signal);
  }
}
