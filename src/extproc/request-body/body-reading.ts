import type { Endpoint } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { AnswerBlocks } from '../../openai/answers/answer-blocks.ts';
import { type BodyEdit, byteGrowth } from '../../openai/body/body-edit.ts';
import type { BodyReader } from '../../openai/body/body-reader.ts';
import type { SessionHead } from './read-request.ts';

interface BodyReadingOptions {
  readonly head: SessionHead;
  readonly reader: BodyReader;
  /** Gets, at the end of the body, what hashes the answer; undefined where no plugin needs it. */
  readonly keepAnswerBlocks: ((blocks: AnswerBlocks | undefined) => void) | undefined;
}

/** How far the body of one request has been read. */
export class BodyReading {
  readonly head: SessionHead;
  readonly #reader: BodyReader;
  readonly #keepAnswerBlocks: BodyReadingOptions['keepAnswerBlocks'];
  #bytes = 0;

  constructor({ head, reader, keepAnswerBlocks }: BodyReadingOptions) {
    this.head = head;
    this.#reader = reader;
    this.#keepAnswerBlocks = keepAnswerBlocks;
  }

  /** The number of bytes that have come. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether what may still come cannot matter. */
  get complete(): boolean {
    return this.#reader.complete;
  }

  /** The change to make to the body, as far as it is known yet. */
  get edit(): BodyEdit | undefined {
    return this.#reader.edit;
  }

  /**
   * How long the body is once it is edited; undefined without an edit, or without `content-length`.
   */
  get editedBytes(): number | undefined {
    const { edit } = this;
    const announced = this.head.headers.get('content-length');
    if (edit === undefined || announced === undefined) return undefined;
    return Number(announced) + byteGrowth(edit);
  }

  /** Throws RoutingError `invalid-request` or `body-too-large` at the first fault. */
  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      throw withEncoding(error, this.head);
    }
  }

  /** The request as known so far. */
  peek(): InferenceRequest {
    return this.#reader.peek();
  }

  /**
   * The whole request. Throws RoutingError for a fault, and where the body is shorter than
   * announced.
   */
  end(): InferenceRequest {
    checkWhole(this.head, this.#bytes);
    try {
      const request = this.#reader.end();
      this.#keepAnswerBlocks?.(this.#reader.answerBlocks());
      return request;
    } catch (error) {
      throw withEncoding(error, this.head);
    }
  }

  /** The pick is made: what `edit` returned may change, but not in length. */
  routedTo(endpoint: Endpoint): void {
    this.#reader.routedTo?.(endpoint);
  }
}

/**
 * Throws where a body that has ended is not as long as announced. Envoy before 1.37 gives the
 * stream of a picker that has gone to another one without what exceeded 64 KB; what is left may
 * still be JSON, and would be served.
 */
function checkWhole({ headers }: SessionHead, bodyBytes: number): void {
  const announced = headers.get('content-length');
  if (announced === undefined || Number(announced) === bodyBytes) return;
  throw new RoutingError(
    'body-incomplete',
    `the gateway has sent ${bodyBytes} bytes of a body of ${announced} (content-length); try again`,
  );
}

/** An error repeats at most so much of a client's header. */
const ENCODING_CHARACTERS_MAX = 40;

/** A fault of a body that says how it is compressed, with a sentence about that. */
function withEncoding(error: unknown, { headers }: SessionHead): unknown {
  const encoding = headers.get('content-encoding') ?? 'identity';
  const isFault = error instanceof RoutingError && error.code === 'invalid-request';
  if (!isFault || encoding === 'identity') return error;
  const named = encoding.slice(0, ENCODING_CHARACTERS_MAX);
  const why = `the body has content-encoding ${named}, which is not read; send it without`;
  return new RoutingError(error.code, `${error.sentence}; ${why}`);
}
