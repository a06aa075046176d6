import type { RoutedRequest } from '../framework/routing.ts';
import { chunked } from './chunked.ts';
import type { StreamAction } from './stream-action.ts';
import { BODY_MODE } from './stream-event.ts';
import { UsageTail } from './usage-tail.ts';

const SERVER_ERROR = 500;

/** The response's half of a session: lets everything pass at once, and notes when it began, how it ended and what it used. */
export class ResponsePhase {
  readonly #emit: (action: StreamAction) => void;
  readonly #tail = new UsageTail();
  #mode: number = BODY_MODE.fullDuplex;
  #status: number | undefined;
  #bodyBytes: number | undefined;

  constructor(emit: (action: StreamAction) => void) {
    this.#emit = emit;
  }

  configure(mode: number): void {
    this.#mode = mode;
  }

  /** Whether the end of the stream is the end of the response: its headers came, and its body is not sent to us. */
  get endsWithStream(): boolean {
    return this.#status !== undefined && this.#mode === BODY_MODE.none;
  }

  onHeaders(
    { status, endOfStream }: { readonly status: string | undefined; readonly endOfStream: boolean },
    routed: RoutedRequest | undefined,
  ): void {
    this.#status = Number(status ?? 200);
    const setHeaders = [...(routed?.responseHeaders() ?? [])];
    this.#emit({ kind: 'answer-response-headers', setHeaders });
    if (endOfStream) this.complete(routed);
  }

  onBody(chunk: Buffer, endOfStream: boolean, routed: RoutedRequest | undefined): void {
    if (this.#mode === BODY_MODE.fullDuplex) this.#echo(chunk, endOfStream);
    else this.#emit({ kind: 'answer-response-body' });
    if (routed === undefined) return;
    this.#bodyBytes = (this.#bodyBytes ?? 0) + chunk.length;
    if (chunk.length > 0) routed.firstToken();
    this.#tail.push(chunk);
    if (endOfStream) this.complete(routed);
  }

  onTrailers(routed: RoutedRequest | undefined): void {
    this.#emit({ kind: 'answer-response-trailers' });
    this.complete(routed);
  }

  complete(routed: RoutedRequest | undefined): void {
    const failed = (this.#status ?? 200) >= SERVER_ERROR;
    routed?.done(failed ? 'failed' : 'completed', this.#tail.take(), this.#bodyBytes);
  }

  #echo(chunk: Buffer, ends: boolean): void {
    const groups = chunked([chunk]);
    for (const [index, pieces] of groups.entries()) {
      const endOfStream = ends && index === groups.length - 1;
      this.#emit({ kind: 'echo-response-body', pieces, endOfStream });
    }
  }
}
