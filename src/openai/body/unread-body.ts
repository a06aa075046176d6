import { type InferenceRequest, NO_BLOCKS } from '../../framework/request.ts';
import type { KeyedHash } from '../../framework/values/keyed-hash.ts';
import { JsonUsage } from '../answers/json-usage.ts';
import type { UsageReader } from '../answers/usage-reader.ts';
import { BYTES_PER_TOKEN } from '../prompts/content-blocks.ts';
import type { BodyReader, RequestHead } from './body-reader.ts';
import { type PriorityOf, readHeaderFields } from './header-fields.ts';

interface UnreadOptions {
  readonly head: RequestHead;
  readonly priorityOf: PriorityOf;
  readonly hash: KeyedHash;
}

/** A body of any format and size: it is counted and not read. */
export class UnreadBody implements BodyReader {
  readonly unread = true;
  readonly complete = true;
  readonly edit = undefined;
  readonly #options: UnreadOptions;
  #bodyBytes = 0;

  constructor(options: UnreadOptions) {
    this.#options = options;
  }

  push(chunk: Uint8Array): void {
    this.#bodyBytes += chunk.length;
  }

  peek(): InferenceRequest {
    const announced = Number(this.#options.head.headers.get('content-length') ?? 0);
    return this.#request(Number.isSafeInteger(announced) && announced > 0 ? announced : 0);
  }

  end(): InferenceRequest {
    return this.#request(this.#bodyBytes);
  }

  answerBlocks(): undefined {
    return undefined;
  }

  usageReader(): UsageReader {
    return new JsonUsage();
  }

  #request(bodyBytes: number): InferenceRequest {
    const { head } = this.#options;
    return {
      id: head.id,
      model: '',
      streaming: false,
      outputTokensMax: undefined,
      promptTokens: Math.ceil(bodyBytes / BYTES_PER_TOKEN),
      prompt: NO_BLOCKS,
      ...readHeaderFields(head.headers, this.#options),
      bodyBytes,
    };
  }
}
