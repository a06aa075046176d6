import type { Dispatcher } from 'undici';
import { AnswerReader, type CountedTokens } from './answer-reader.ts';

/** Where an answer was lost. `http 503` and the like besides. */
export type LostKind =
  | 'connection'
  | 'cut off'
  | 'time-out'
  | 'stopped'
  | 'no such answer'
  | 'said error'
  | 'empty';

export interface AnswerEnd {
  /** Undefined when all of it came. */
  readonly lost:
    | { readonly kind: LostKind | `http ${number}`; readonly message: string }
    | undefined;
  readonly counted: CountedTokens | undefined;
  /** Chunks that carried tokens. */
  readonly chunks: number;
  /** The server's own name, where it says one. */
  readonly servedBy: string | undefined;
}

export interface AnswerHooks {
  /** Tokens came, for the first time or again. */
  onTokens(): void;
  /** Once, and nothing after it. */
  onEnd(end: AnswerEnd): void;
}

const ERROR_CHARS_MAX = 300;

/** One request and its streamed answer, without a stream or a promise of its own: there are thousands. */
export class AnswerExchange implements Dispatcher.DispatchHandler {
  readonly #hooks: AnswerHooks;
  readonly #servedByHeader: string;
  readonly #reader = new AnswerReader();
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #servedBy: string | undefined;
  /** What a refusal says. */
  #refusal = '';
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
      const room = ERROR_CHARS_MAX - this.#refusal.length;
      if (room > 0) this.#refusal += chunk.toString('utf8', 0, room);
      return;
    }
    try {
      if (this.#reader.push(chunk)) this.#hooks.onTokens();
    } catch (error) {
      this.cancel('no such answer', messageOf(error));
    }
  }

  onResponseEnd(): void {
    const { failure, chunks, done } = this.#reader;
    if (this.#status !== 200) this.#end(`http ${this.#status}`, this.#refusal.trim());
    else if (failure !== undefined) this.#end('said error', failure);
    else if (!done) this.#end('cut off', 'the answer ended without [DONE]');
    else if (chunks === 0) this.#end('empty', 'the answer had no token');
    else this.#end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end(this.#status === 0 ? 'connection' : 'cut off', messageOf(error));
  }

  /** Ends it as lost; without effect when it is over. */
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

/** A failed connect to a name with several addresses has a code and no message. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return (error.message || ('code' in error ? String(error.code) : error.name)).slice(
    0,
    ERROR_CHARS_MAX,
  );
}
