import type { ServerResponse } from 'node:http';

/** A request that the sidecar answers itself, with this status and a sentence for the client. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** What kind of error a status is, to vLLM and to Anthropic. */
const TYPES: ReadonlyMap<number, readonly [vllm: string, anthropic: string]> = new Map([
  [400, ['BadRequestError', 'invalid_request_error']],
  [403, ['PermissionDeniedError', 'permission_error']],
  [408, ['RequestTimeoutError', 'timeout_error']],
  [413, ['RequestTooLargeError', 'request_too_large']],
  [502, ['BadGateway', 'api_error']],
  [503, ['ServiceUnavailable', 'overloaded_error']],
  [504, ['GatewayTimeout', 'timeout_error']],
]);
const OTHER = ['InternalServerError', 'api_error'] as const;

/** Answers with an error in the form of the API that was asked: OpenAI's, or that of Anthropic. */
export function respondError(response: ServerResponse, status: number, message: string): void {
  const [type, anthropicType] = TYPES.get(status) ?? OTHER;
  const error = response.req.url?.startsWith('/v1/messages')
    ? { type: 'error', error: { type: anthropicType, message } }
    : { error: { message, type, param: null, code: status } };
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(error));
}
