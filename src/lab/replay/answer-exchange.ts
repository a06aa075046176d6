import type { Dispatcher } from 'undici';
import { AnswerReader, type CountedTokens } from './answer-reader.ts';

/** Why an answer did not come as a whole, besides `http 503` and other status codes. */
export type LostKind =
  | 'connection'
  | 'cut off'
  | 'time-out'
  | 'stopped'
  | 'no such answer'
  | 'said error'
  | 'empty';

export interface AnswerEnd {
  /** Undefined when the whole answer came. */
  readonly lost:
    | { readonly kind: LostKind | `http ${number}`; readonly message: string }
    | undefined;
  readonly counted: CountedTokens | undefined;
  /** Number of chunks with tokens. */
  readonly chunks: number;
  /** The server's name, if the response names one. */
  readonly servedBy: string | undefined;
}

export interface AnswerHooks {
  /** `count` tokens came. */
  onTokens(count: number): void;
  /** Called once, after all else. */
  onEnd(end: AnswerEnd): void;
}

const ERROR_CHARS_MAX = 300;

/** A request and its answer. Without a stream and a promise, because there are thousands. */
export class AnswerExchange implements Dispatcher.DispatchHandler {
  readonly #hooks: AnswerHooks;
  readonly #servedByHeader: string;
  readonly #reader = new AnswerReader();
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #servedBy: string | undefined;
  /** The beginning of the body of an answer that is an error. */
  #errorText = '';
  #ended = false;

  constructor(hooks: AnswerHooks, servedByHeader: string) {
    this.#hooks = hooks;
    this.#servedByHeader = servedByHeader;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#ended) controller.abort(new Error('ended before it was sent'));
    else this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#status = status;
    const name = headers[this.#servedByHeader];
    this.#servedBy = Array.isArray(name) ? name[0] : name;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    if (this.#status !== 200) {
      const room = ERROR_CHARS_MAX - this.#errorText.length;
      if (room > 0) this.#errorText += chunk.toString('utf8', 0, room);
      return;
    }
    try {
      const tokens = this.#reader.push(chunk);
      if (tokens > 0) this.#hooks.onTokens(tokens);
    } catch (error) {
      this.cancel('no such answer', messageOf(error));
    }
  }

  onResponseEnd(): void {
    const { failure, chunks, done } = this.#reader;
    if (this.#status !== 200) this.#end(`http ${this.#status}`, this.#errorText.trim());
    else if (failure !== undefined) this.#end('said error', failure);
    else if (!done) this.#end('cut off', 'the answer ended without [DONE]');
    else if (chunks === 0) this.#end('empty', 'the answer had no token');
    else this.#end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end(this.#status === 0 ? 'connection' : 'cut off', messageOf(error));
  }

  /** Ends the answer as lost. Has no effect if it has ended. */
  cancel(kind: LostKind, message: string): void {
    this.#end(kind, message);
    this.#controller?.abort(new Error(message));
  }

  #end(kind?: LostKind | `http ${number}`, message = ''): void {
    if (this.#ended) return;
    this.#ended = true;
    const { counted, chunks } = this.#reader;
    const lost = kind === undefined ? undefined : { kind, message };
    this.#hooks.onEnd({ lost, counted, chunks, servedBy: this.#servedBy });
  }
}

/** A failed connection to a name with several addresses has a code and no message. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.message || ('code' in error ? String(error.code) : error.name);
  return text.slice(0, ERROR_CHARS_MAX);
}
