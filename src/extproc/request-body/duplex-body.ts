import type { RoutedRequest } from '../../framework/routing.ts';
import { byteGrowth, editBody } from '../../openai/body/body-edit.ts';
import { echoBody } from '../codec/echo-body.ts';
import type { PickMutation } from '../codec/stream-action.ts';
import { KeptBody } from '../streams/kept-body.ts';
import type { ReadRequest } from './read-request.ts';
import type { BodyParts, RequestBody } from './request-body.ts';

/** A body in full duplex: nothing is answered before its end, and then all of it is sent back. */
export class DuplexBody implements RequestBody {
  readonly isOneMessage = false;
  readonly #parts: BodyParts;
  readonly #kept: KeptBody;

  constructor(parts: BodyParts) {
    this.#parts = parts;
    this.#kept = new KeptBody(parts.account);
  }

  onHeaders(): undefined {
    return undefined;
  }

  onChunk(chunk: Buffer, endOfStream: boolean): ReadRequest | undefined {
    this.#parts.reading.push(chunk);
    this.#kept.add(chunk);
    return endOfStream ? this.#read('by-chunk') : undefined;
  }

  onTrailers(): ReadRequest {
    return this.#read('by-trailers');
  }

  onRouted({ endpoint }: RoutedRequest): void {
    this.#parts.reading.routedTo(endpoint);
    this.#kept.uncount();
  }

  drop(): void {
    this.#kept.free();
  }

  #read(end: 'by-chunk' | 'by-trailers'): ReadRequest {
    const { reading, halfCloses } = this.#parts;
    const request = reading.end();
    const { edit, bytes } = reading;
    const body = editBody(edit, this.#kept.pieces);
    const closes = halfCloses(request);
    // Trailers end the stream themselves, and the proxy announces no length before them.
    const ended = end === 'by-chunk';
    const length = bytes + (edit === undefined ? 0 : byteGrowth(edit));
    return {
      head: reading.head,
      request,
      body,
      contentLength: ended ? length : undefined,
      halfCloses: closes,
      answerPick: (pick) => this.#answerPick(pick, body, { ended, closes }),
    };
  }

  #answerPick(
    pick: PickMutation,
    body: readonly Uint8Array[],
    { ended, closes }: { readonly ended: boolean; readonly closes: boolean },
  ): void {
    const { reading, emit, onOver } = this.#parts;
    emit({ kind: 'answer-request-headers', pick });
    // Where trailers came without a body, the proxy expects none back.
    if (ended || reading.bytes > 0)
      echoBody(emit, 'echo-request-body', body, ended, { memory: this.#kept.handOver() });
    onOver();
    if (!ended) emit({ kind: 'answer-request-trailers' });
    else if (closes) emit({ kind: 'half-close' });
  }
}
