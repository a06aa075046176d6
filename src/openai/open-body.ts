import { RoutingError } from '../framework/error.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { AnswerBlocks } from './answer-blocks.ts';
import type { BodyEdit } from './body-edit.ts';
import type { BodyReader, RequestHead } from './body-reader.ts';
import { readHeaderFields } from './header-fields.ts';
import { JsonBodyReader } from './json-body-reader.ts';
import type { RewriteOf } from './model-target.ts';
import { OpaqueBodyReader } from './opaque-body-reader.ts';
import { requestShapeFor } from './request-shape.ts';

export interface OpenBodyOptions {
  /** A larger body is refused with 413. */
  readonly bodyBytesMax: number;
  /** Secret of the process: block hashes cannot be made to collide from outside. */
  readonly hashSeed: number;
  readonly priorityOf?: PriorityOf;
  readonly rewriteOf?: RewriteOf | undefined;
}

export type PriorityOf = (objective: string | undefined) => number;

export type OpenBody = (head: RequestHead) => BodyReader;

/** Chooses how a request's body is read, by its path and content type. Throws RoutingError when it is too large. */
export function createOpenBody({
  bodyBytesMax,
  hashSeed,
  priorityOf = () => 0,
  rewriteOf = () => undefined,
}: OpenBodyOptions): OpenBody {
  return (head) => {
    refuseOver(Number(head.headers.get('content-length') ?? 0), bodyBytesMax);
    const shape = isJson(head.headers.get('content-type')) ? requestShapeFor(pathOf(head)) : undefined;
    const reader =
      shape === undefined
        ? new OpaqueBodyReader(head, priorityOf(readHeaderFields(head.headers).objective))
        : new JsonBodyReader({ head, shape, hashSeed, priorityOf, rewriteOf });
    return new BoundedBodyReader(reader, bodyBytesMax);
  };
}

/** A request as its headers tell it: one without a body, or whose body never reaches us. */
export function headerOnlyRequest(
  head: RequestHead,
  priorityOf: PriorityOf = () => 0,
): InferenceRequest {
  return new OpaqueBodyReader(head, priorityOf(readHeaderFields(head.headers).objective)).end();
}

class BoundedBodyReader implements BodyReader {
  readonly #reader: BodyReader;
  readonly #bodyBytesMax: number;
  #bodyBytes = 0;

  constructor(reader: BodyReader, bodyBytesMax: number) {
    this.#reader = reader;
    this.#bodyBytesMax = bodyBytesMax;
  }

  get complete(): boolean {
    return this.#reader.complete;
  }

  get edit(): BodyEdit | undefined {
    return this.#reader.edit;
  }

  push(chunk: Uint8Array): void {
    this.#bodyBytes += chunk.length;
    refuseOver(this.#bodyBytes, this.#bodyBytesMax);
    this.#reader.push(chunk);
  }

  peek(): InferenceRequest {
    return this.#reader.peek();
  }

  end(): InferenceRequest {
    return this.#reader.end();
  }

  answerBlocks(): AnswerBlocks | undefined {
    return this.#reader.answerBlocks();
  }
}

function refuseOver(bodyBytes: number, bodyBytesMax: number): void {
  if (!(bodyBytes > bodyBytesMax)) return;
  throw new RoutingError(
    'body-too-large',
    `the request body has ${bodyBytes} bytes or more; this gateway takes ${bodyBytesMax} (--max-body-bytes)`,
  );
}

/** Clients that say nothing of the type send JSON to these paths all the same. */
function isJson(contentType: string | undefined): boolean {
  return contentType === undefined || contentType === '' || /\bjson\b/i.test(contentType);
}

function pathOf({ path, headers }: RequestHead): string {
  return path === '/' || path === ''
    ? (headers.get('x-original-path') ?? headers.get('x-forwarded-path') ?? path)
    : path;
}
