import { RoutingError } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import { PassingBody } from './passing-body.ts';
import { type ReadRequest, readAtHeaders } from './read-request.ts';
import type { BodyParts, RequestBody } from './request-body.ts';

/** A body that streams past: nothing is answered until the pick, and then every chunk at once. */
export class StreamedBody implements RequestBody {
  readonly isOneMessage = false;
  readonly #parts: BodyParts;
  readonly #pickBytes: number | undefined;
  readonly #passing: PassingBody;
  #routed: RoutedRequest | undefined;

  /**
   * The pick is made after `pickBytes` bytes, or earlier where the rest cannot matter. Undefined:
   * the proxy sends the body only after the answer to the headers, so the pick is made at these.
   */
  constructor(parts: BodyParts, pickBytes: number | undefined) {
    this.#parts = parts;
    this.#pickBytes = pickBytes;
    this.#passing = new PassingBody(parts.account);
  }

  onHeaders(): ReadRequest | undefined {
    if (this.#pickBytes !== undefined) return undefined;
    this.#passing.settle(undefined);
    const { reading } = this.#parts;
    return readAtHeaders(reading.head, reading.peek(), this.#parts);
  }

  onChunk(chunk: Buffer, endOfStream: boolean): ReadRequest | undefined {
    const { reading } = this.#parts;
    reading.push(chunk);
    this.#passing.add(chunk);
    if (endOfStream) return this.#end('by-chunk');
    if (this.#routed !== undefined) {
      this.#answerChunks();
      return undefined;
    }
    // The proxy holds trailers back until our answer: a complete body must not wait for them.
    const isEnough = reading.complete || reading.bytes >= (this.#pickBytes ?? 0);
    return isEnough ? this.#read(reading.peek(), 'before-end') : undefined;
  }

  onTrailers(): ReadRequest | undefined {
    return this.#end('by-trailers');
  }

  onRouted(routed: RoutedRequest): void {
    this.#routed = routed;
    this.#parts.reading.routedTo(routed.endpoint);
    this.#passing.uncount();
  }

  drop(): void {
    this.#passing.drop();
  }

  #end(end: 'by-chunk' | 'by-trailers'): ReadRequest | undefined {
    const request = this.#parts.reading.end();
    if (this.#routed === undefined) return this.#read(request, end);
    this.#checkEdit();
    this.#routed.bodyRead(request);
    this.#answerChunks();
    return undefined;
  }

  #read(request: InferenceRequest, at: 'before-end' | 'by-chunk' | 'by-trailers'): ReadRequest {
    const { reading, emit, halfCloses } = this.#parts;
    this.#passing.settle(reading.edit);
    return {
      head: reading.head,
      request,
      body: [],
      contentLength: reading.editedBytes,
      halfCloses: halfCloses(request),
      answerPick: (pick) => {
        emit({ kind: 'answer-request-headers', pick });
        this.#answerChunks();
        if (at === 'by-trailers') emit({ kind: 'answer-request-trailers' });
      },
    };
  }

  #answerChunks(): void {
    for (const body of this.#passing.release()) {
      this.#parts.emit({ kind: 'answer-request-body', pick: undefined, body });
    }
  }

  /**
   * Throws for a field that came after the pick and is to be replaced: it may have left already.
   */
  #checkEdit(): void {
    const missed = this.#passing.missed(this.#parts.reading.edit);
    if (missed !== undefined) throw lateEdit(missed.field, this.#pickBytes);
  }
}

/** The error of a field of the body that was read too late to be replaced. */
function lateEdit(field: string, pickBytes: number | undefined): RoutingError {
  return new RoutingError(
    'invalid-request',
    pickBytes === undefined
      ? `field "${field}" is to be replaced, and this gateway shows the body only after its headers have left: use FULL_DUPLEX_STREAMED or BUFFERED`
      : `field "${field}" comes after ${pickBytes} bytes or more, too late to be replaced: put it before the prompt, or leave it out`,
  );
}
