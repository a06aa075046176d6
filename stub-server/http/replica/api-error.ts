import type { ServerResponse } from 'node:http';
import type { z } from 'zod';
import { zodIssues } from '../../../src/files/reading/zod-issues.ts';
import { messageOf } from '../../../src/framework/error.ts';
import type { DialectName } from '../../metrics/engine-page.ts';

/** vLLM's names for HTTP statuses. */
const TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'BadRequestError'],
  [401, 'AuthenticationError'],
  [403, 'PermissionDeniedError'],
  [404, 'NotFoundError'],
  [422, 'UnprocessableEntityError'],
  [429, 'RateLimitError'],
]);

interface ErrorFields {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: number;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly param: string | null;

  constructor(status: number, message: string, param: string | null = null) {
    super(message);
    this.status = status;
    this.param = param;
  }

  /** The body in OpenAI's format, as vLLM sends it. */
  get body(): object {
    return { error: this.#fields };
  }

  /** The body that a client of this path reads: that of Anthropic is another. */
  bodyFor(path: string, engine: DialectName): object {
    const { message, type } = this.#fields;
    if (path.startsWith('/v1/messages')) return { type: 'error', error: { type, message } };
    // SGLang has the fields at the top.
    const isNested = engine !== 'sglang' || path.startsWith('/v1/responses');
    return isNested ? this.body : { object: 'error', ...this.#fields };
  }

  get #fields(): ErrorFields {
    const { message, param, status } = this;
    const type = TYPES.get(status) ?? (status < 500 ? 'BadRequestError' : 'InternalServerError');
    return { message, type, param, code: status };
  }
}

/** Throws ApiError with the first issue and its path. */
export function parseBody<T>(schema: z.ZodType<T>, raw: unknown): T {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const param = parsed.error.issues[0]?.path.join('.') ?? '';
  const [issue] = zodIssues(parsed.error, { schema, at: '' });
  const path = issue === undefined || issue.path.startsWith('(') ? 'body' : issue.path;
  throw new ApiError(400, `${path}: ${issue?.message ?? 'is invalid'}`, param);
}

/** Answers with `error`; one that is not an ApiError has the status `otherwise`. */
export function sendError(
  response: ServerResponse,
  error: unknown,
  otherwise: number,
  { path = '', engine = 'vllm' }: { readonly path?: string; readonly engine?: DialectName } = {},
): void {
  const known = error instanceof ApiError ? error : new ApiError(otherwise, messageOf(error));
  sendJson(response, known.status, known.bodyFor(path, engine));
}

/** With `truncated`, sends half of the body and then closes the connection. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  { truncated = false }: { readonly truncated?: boolean } = {},
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  if (truncated) response.write(text.slice(0, text.length / 2), () => response.destroy());
  else response.end(text);
}

/** vLLM sends the headers as soon as it accepts the request, long before the first token. */
export function beginEventStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.flushHeaders();
}
