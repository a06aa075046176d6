import type { InferenceRequest } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import { editBody } from '../../openai/body/body-edit.ts';
import { KeptBody } from '../streams/kept-body.ts';
import type { ReadRequest } from './read-request.ts';
import type { BodyParts, RequestBody } from './request-body.ts';

/** A body that comes in one message, once the headers have been answered. */
export class MessageBody implements RequestBody {
  readonly isOneMessage = true;
  readonly #parts: BodyParts;
  readonly #kept: KeptBody;
  readonly #mayBeCut: boolean;

  /** `mayBeCut`: the message has only what fits into the proxy's buffer. */
  constructor(parts: BodyParts, { mayBeCut }: { readonly mayBeCut: boolean }) {
    this.#parts = parts;
    this.#kept = new KeptBody(parts.account);
    this.#mayBeCut = mayBeCut;
  }

  onHeaders(): undefined {
    this.#parts.emit({ kind: 'answer-request-headers', pick: undefined });
    return undefined;
  }

  /** With trailers to come, the message is not marked as the end, though it is whole. */
  onChunk(chunk: Buffer, endOfStream: boolean): ReadRequest {
    const { reading, emit } = this.#parts;
    reading.push(chunk);
    this.#kept.add(chunk);
    const isCut = this.#mayBeCut && !endOfStream && !reading.complete;
    const request = isCut ? reading.peek() : reading.end();
    const { edit } = reading;
    const body = editBody(edit, this.#kept.pieces);
    return this.#picked(request, body, (pick) => {
      const memory = this.#kept.handOver();
      emit({ kind: 'answer-request-body', pick, body: edit && body, memory });
    });
  }

  /** Trailers came in place of the message with the body: there is no body. */
  onTrailers(): ReadRequest {
    const { reading, emit } = this.#parts;
    return this.#picked(reading.end(), [], (pick) => {
      emit({ kind: 'answer-request-headers', pick });
      emit({ kind: 'answer-request-trailers' });
    });
  }

  onRouted({ endpoint }: RoutedRequest): void {
    this.#parts.reading.routedTo(endpoint);
    this.#kept.uncount();
  }

  drop(): void {
    this.#kept.free();
  }

  #picked(
    request: InferenceRequest,
    body: readonly Uint8Array[],
    answerPick: ReadRequest['answerPick'],
  ): ReadRequest {
    const { head, editedBytes } = this.#parts.reading;
    const halfCloses = this.#parts.halfCloses(request);
    return { head, request, body, contentLength: editedBytes, halfCloses, answerPick };
  }
}
