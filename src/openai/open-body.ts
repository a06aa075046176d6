import { type HashSecret, KeyedHash } from '../framework/keyed-hash.ts';
import { type InferenceRequest, NO_BLOCKS } from '../framework/request.ts';
import { type BodyReader, checkBodyBytes, type RequestHead } from './body-reader.ts';
import { BYTES_PER_TOKEN } from './content-blocks.ts';
import { withoutControls } from './control-headers.ts';
import { readHeaderFields } from './header-fields.ts';
import { JsonBodyReader } from './json-body-reader.ts';
import type { RewriteOf } from './model-target.ts';
import { requestShapeFor } from './request-shape.ts';

interface OpenBodyOptions {
  /** A larger body is rejected with 413. */
  readonly bodyBytesMax: number;
  /** Only who has it can find two prompts with equal block hashes other than by chance. */
  readonly hashSeed: HashSecret;
  readonly priorityOf?: PriorityOf;
  readonly rewriteOf?: RewriteOf | undefined;
  /**
   * Called with the name of each control header and control field that is ignored, see
   * docs/model-rewrites.md. Undefined: clients are trusted with them.
   */
  readonly onIgnored?: ((control: string) => void) | undefined;
}

type PriorityOf = (objective: string | undefined) => number;

/** Makes readers by path and content type. Throws RoutingError `body-too-large`. */
export function createOpenBody({
  bodyBytesMax,
  hashSeed,
  priorityOf = () => 0,
  rewriteOf = () => undefined,
  onIgnored,
}: OpenBodyOptions): (head: RequestHead) => BodyReader {
  const hash = new KeyedHash(hashSeed);
  return (given) => {
    const head = onIgnored === undefined ? given : withoutControls(given, onIgnored);
    checkBodyBytes(Number(head.headers.get('content-length') ?? 0), bodyBytesMax);
    const isJson = isJsonType(head.headers.get('content-type'));
    const shape = isJson ? requestShapeFor(pathOf(head)) : undefined;
    return shape === undefined
      ? new OpaqueBodyReader(head, { priorityOf, bodyBytesMax, hash })
      : new JsonBodyReader({ head, shape, bodyBytesMax, hash, priorityOf, rewriteOf, onIgnored });
  };
}

/** The request of a head alone: it has no body, or the body does not reach the picker. */
export function headerOnlyRequest(
  head: RequestHead,
  priorityOf: PriorityOf = () => 0,
  hash: KeyedHash = new KeyedHash(0),
): InferenceRequest {
  return new OpaqueBodyReader(head, { priorityOf, bodyBytesMax: 0, hash }).end();
}

interface OpaqueOptions {
  readonly priorityOf: PriorityOf;
  readonly bodyBytesMax: number;
  readonly hash: KeyedHash;
}

/** Reads a body of unknown format: only its size counts. */
class OpaqueBodyReader implements BodyReader {
  readonly complete = true;
  readonly edit = undefined;
  readonly #head: RequestHead;
  readonly #options: OpaqueOptions;
  #bodyBytes = 0;

  constructor(head: RequestHead, options: OpaqueOptions) {
    this.#head = head;
    this.#options = options;
  }

  push(chunk: Uint8Array): void {
    this.#bodyBytes += chunk.length;
    checkBodyBytes(this.#bodyBytes, this.#options.bodyBytesMax);
  }

  peek(): InferenceRequest {
    return this.end();
  }

  end(): InferenceRequest {
    const { priorityOf, hash } = this.#options;
    const fields = readHeaderFields(this.#head.headers, hash);
    return {
      id: this.#head.id,
      model: '',
      streaming: false,
      outputTokensMax: undefined,
      promptTokens: Math.ceil(this.#bodyBytes / BYTES_PER_TOKEN),
      prompt: NO_BLOCKS,
      priority: priorityOf(fields.objective),
      ...fields,
      headers: this.#head.headers,
      bodyBytes: this.#bodyBytes,
    };
  }

  answerBlocks(): undefined {
    return undefined;
  }
}

/** Clients that send no content type send JSON to these paths, too. */
function isJsonType(contentType: string | undefined): boolean {
  return contentType === undefined || contentType === '' || /\bjson\b/i.test(contentType);
}

function pathOf({ path, headers }: RequestHead): string {
  return path === '/' || path === ''
    ? (headers.get('x-original-path') ?? headers.get('x-forwarded-path') ?? path)
    : path;
}
