import type { RoutedRequest } from '../../framework/routing.ts';
import type { BodyReader } from '../../openai/body/body-reader.ts';
import { passChunk } from '../codec/echo-body.ts';
import { type ReadRequest, readAtHeaders, type SessionHead } from './read-request.ts';
import type { BodyParts, RequestBody } from './request-body.ts';

type SkippedParts = Pick<BodyParts, 'emit' | 'halfCloses'> & {
  readonly head: SessionHead;
  readonly reader: BodyReader;
  readonly requestBodyMode: number;
};

/** A body that no pick needs: the request is picked at its headers, and all chunks pass at once. */
export class SkippedBody implements RequestBody {
  readonly isOneMessage = false;
  readonly #parts: SkippedParts;
  #routed: RoutedRequest | undefined;

  constructor(parts: SkippedParts) {
    this.#parts = parts;
  }

  onHeaders(): ReadRequest {
    const { head, reader } = this.#parts;
    return readAtHeaders(head, reader.peek(), this.#parts);
  }

  onChunk(chunk: Buffer, endOfStream: boolean): undefined {
    const { reader, emit, requestBodyMode } = this.#parts;
    reader.push(chunk);
    passChunk(emit, chunk, endOfStream, requestBodyMode);
    if (endOfStream) this.#end('by-chunk');
    return undefined;
  }

  onTrailers(): undefined {
    this.#end('by-trailers');
    return undefined;
  }

  onRouted(routed: RoutedRequest): void {
    this.#routed = routed;
    this.#parts.reader.routedTo?.(routed.endpoint);
  }

  drop(): void {
    // Nothing is kept.
  }

  #end(end: 'by-chunk' | 'by-trailers'): void {
    const { reader, emit, halfCloses } = this.#parts;
    const request = reader.end();
    // The pick was made by the announced size.
    if (request.bodyBytes !== this.#routed?.request.bodyBytes) this.#routed?.bodyRead(request);
    if (end === 'by-chunk' && halfCloses(request)) emit({ kind: 'half-close' });
  }
}
