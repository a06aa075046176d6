import { type InferenceRequest, NO_BLOCKS } from '../framework/request.ts';
import type { BodyReader, RequestHead } from './body-reader.ts';
import { BYTES_PER_TOKEN } from './content-blocks.ts';
import { readHeaderFields } from './header-fields.ts';

/** Takes a body it does not understand: only its size is known. */
export class OpaqueBodyReader implements BodyReader {
  readonly complete = true;
  readonly edit = undefined;
  readonly #head: RequestHead;
  readonly #priority: number;
  #bodyBytes = 0;

  constructor(head: RequestHead, priority: number) {
    this.#head = head;
    this.#priority = priority;
  }

  push(chunk: Uint8Array): void {
    this.#bodyBytes += chunk.length;
  }

  peek(): InferenceRequest {
    return this.end();
  }

  end(): InferenceRequest {
    return {
      id: this.#head.id,
      model: '',
      streaming: false,
      outputTokensMax: undefined,
      promptTokens: Math.ceil(this.#bodyBytes / BYTES_PER_TOKEN),
      prompt: NO_BLOCKS,
      priority: this.#priority,
      ...readHeaderFields(this.#head.headers),
      headers: this.#head.headers,
      bodyBytes: this.#bodyBytes,
    };
  }

  answerBlocks(): undefined {
    return undefined;
  }
}
