import type { Dispatcher } from 'undici';
import {
  BodyTooLargeError,
  type HttpGetOptions,
  type HttpResponse,
} from '../../../framework/runtime.ts';
import { timeoutAfterReads } from '../../clock/timeout-after-reads.ts';
import { PieceLimit } from '../pieces/piece-limit.ts';
import { FloodingServerError } from './head-guard.ts';
import { tlsFailure } from './http-connector.ts';
import type { ReusedBody } from './reused-body.ts';
import { unaskedAnswer } from './unasked-answer.ts';

/** Answers before the answer, such as 103: servers send one or two. */
const INTERIM_MAX = 10;

interface HttpExchangeOptions {
  readonly url: URL;
  readonly options: HttpGetOptions;
  readonly body: ReusedBody;
  /** Called exactly once. */
  readonly onEnd: (outcome: HttpResponse | Error) => void;
  /** Called after `onEnd` where the deadline passed before the request was sent. */
  readonly onUnsent: () => void;
  /** Called when the server has begun to answer, or sent a part of the body. */
  readonly onProgress: () => void;
}

/** One HTTP request and its answer, which is read into the origin's memory. */
export class HttpExchange implements Dispatcher.DispatchHandler {
  readonly #options: HttpExchangeOptions;
  readonly #deadline: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #interim = 0;
  readonly #pieces = new PieceLimit();
  #ended = false;

  constructor(options: HttpExchangeOptions) {
    this.#options = options;
    this.#deadline = timeoutAfterReads(options.options.timeoutMs, this.#expire);
  }

  /** Whether the request is on the wire; else it waits for a connection or for its turn. */
  get started(): boolean {
    return this.#controller !== undefined;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#ended) controller.abort(new Error('expired before it was sent'));
    else this.#controller = controller;
    this.#options.onProgress();
  }

  onResponseStart(controller: Dispatcher.DispatchController, statusCode: number): void {
    this.#options.onProgress();
    if (statusCode < 200) {
      this.#interim += 1;
      if (this.#interim > INTERIM_MAX) {
        controller.abort(
          new FloodingServerError(`it answered ${this.#interim} times that it will answer`),
        );
      }
      return;
    }
    this.#status = statusCode;
    this.#options.body.clear();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { body, options, url, onProgress } = this.#options;
    onProgress();
    if (body.bytes + chunk.length > options.bodyBytesMax) {
      const message = `${url.href} answered more than ${options.bodyBytesMax} bytes`;
      controller.abort(new BodyTooLargeError(message));
      return;
    }
    const pieces = this.#pieces.exceededBy(chunk.length);
    if (pieces !== undefined) {
      const message = `it answered in ${pieces} pieces of a few bytes each`;
      controller.abort(new FloodingServerError(message));
      return;
    }
    body.append(chunk);
  }

  onResponseEnd(): void {
    this.#end({ status: this.#status, body: this.#options.body.view() });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const { url } = this.#options;
    // A failed connect to a name with several addresses has a code and no message.
    const what =
      tlsFailure(error) ??
      unaskedAnswer(error) ??
      (error.message || ('code' in error ? String(error.code) : error.name));
    const named = what.includes(url.href)
      ? error
      : new Error(`${url.href}: ${what}`, { cause: error });
    this.#end(named);
  }

  readonly #expire = (): void => {
    if (this.#ended) return;
    const { url, options, onUnsent } = this.#options;
    const error = new Error(`${url.href} did not answer within ${options.timeoutMs} ms`);
    this.#end(error);
    // After the end, whose reason would otherwise be that of a client that has been thrown away.
    if (this.#controller === undefined) onUnsent();
    else this.#controller.abort(error);
  };

  #end(outcome: HttpResponse | Error): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#deadline);
    this.#options.onEnd(outcome);
  }
}
