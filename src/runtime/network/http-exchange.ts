import type { Dispatcher } from 'undici';
import {
  BodyTooLargeError,
  type HttpGetOptions,
  type HttpResponse,
} from '../../framework/runtime.ts';
import { tlsFailure } from './http-connector.ts';
import type { ReusedBody } from './reused-body.ts';

interface HttpExchangeOptions {
  readonly url: URL;
  readonly options: HttpGetOptions;
  readonly body: ReusedBody;
  /** Called exactly once. */
  readonly onEnd: (outcome: HttpResponse | Error) => void;
  /** Called before `onEnd` when the deadline passed before the request was sent. */
  readonly onUnsent: () => void;
}

/** One HTTP request and its answer, which is read into the origin's memory. */
export class HttpExchange implements Dispatcher.DispatchHandler {
  readonly #options: HttpExchangeOptions;
  readonly #deadline: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #ended = false;

  constructor(options: HttpExchangeOptions) {
    this.#options = options;
    this.#deadline = setTimeout(this.#expire, options.options.timeoutMs).unref();
  }

  /** Whether the request is on the wire; else it waits for a connection or for its turn. */
  get started(): boolean {
    return this.#controller !== undefined;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#ended) controller.abort(new Error('expired before it was sent'));
    else this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number): void {
    this.#status = statusCode;
    this.#options.body.clear();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { body, options, url } = this.#options;
    if (body.bytes + chunk.length > options.bodyBytesMax) {
      const message = `${url.href} answered more than ${options.bodyBytesMax} bytes`;
      controller.abort(new BodyTooLargeError(message));
    } else body.append(chunk);
  }

  onResponseEnd(): void {
    this.#end({ status: this.#status, body: this.#options.body.view() });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const { url } = this.#options;
    // A failed connect to a name with several addresses has a code and no message.
    const what =
      tlsFailure(error) ?? (error.message || ('code' in error ? String(error.code) : error.name));
    const named = what.includes(url.href)
      ? error
      : new Error(`${url.href}: ${what}`, { cause: error });
    this.#end(named);
  }

  readonly #expire = (): void => {
    const { url, options, onUnsent } = this.#options;
    const error = new Error(`${url.href} did not answer within ${options.timeoutMs} ms`);
    if (this.#controller === undefined) onUnsent();
    this.#end(error);
    this.#controller?.abort(error);
  };

  #end(outcome: HttpResponse | Error): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#deadline);
    this.#options.onEnd(outcome);
  }
}
