import { ERRORS, type RoutingError } from '../../framework/error.ts';
import { apiPath } from '../../openai/api-path.ts';
import type { RequestHead } from '../../openai/body/body-reader.ts';
import { requestPath } from '../../openai/request-path.ts';
import type { StreamAction } from '../codec/stream-action.ts';

/** Seconds that a client should wait before it tries again, where trying again can help. */
const RETRY_AFTER_SECONDS = '1';
/** `application/grpc`, alone or with a format behind it. Not `application/grpc-web`. */
const GRPC_TYPE = /^application\/grpc(?:[+;]|$)/i;
/** The path of Anthropic's API. */
const MESSAGES_PATH = '/v1/messages';

/** How a client reads errors: by its API, or as gRPC's status, without a look at HTTP's. */
export type ErrorForm = 'openai' | 'anthropic' | 'grpc';

/** The form for the client that sent this; OpenAI's where nothing of the request is known. */
export function errorFormOf(head: Pick<RequestHead, 'path' | 'headers'> | undefined): ErrorForm {
  if (head === undefined) return 'openai';
  if (GRPC_TYPE.test(head.headers.get('content-type') ?? '')) return 'grpc';
  return apiPath(requestPath(head)).includes(MESSAGES_PATH) ? 'anthropic' : 'openai';
}

/** A routing error as the client gets it: as JSON in its API's error shape, or as gRPC's status. */
export function errorResponse({ code, sentence }: RoutingError, form: ErrorForm): StreamAction {
  const { status, grpcStatus, type, anthropicType, droppedReason } = ERRORS[code];
  const headers: (readonly [name: string, value: string])[] = [
    ['content-type', form === 'grpc' ? 'application/grpc' : 'application/json'],
  ];
  if (droppedReason !== undefined) headers.push(['x-llm-d-request-dropped-reason', droppedReason]);
  if (status === 429 || status === 503) headers.push(['retry-after', RETRY_AFTER_SECONDS]);
  if (form === 'grpc') {
    headers.push(['grpc-status', String(grpcStatus)], ['grpc-message', grpcMessage(sentence)]);
    return { kind: 'immediate-response', status: 200, grpcStatus, headers, body: '' };
  }
  const error =
    form === 'anthropic'
      ? { type: 'error', error: { type: anthropicType ?? type, message: sentence, reason: code } }
      : { error: { message: sentence, type, param: null, code: status, reason: code } };
  return { kind: 'immediate-response', status, headers, body: JSON.stringify(error) };
}

/** The header's encoding: all but visible ASCII as `%` and two hexadecimal digits a byte. */
function grpcMessage(sentence: string): string {
  return sentence.replace(/[^\x20-\x24\x26-\x7e]+/g, (rest) =>
    [...new TextEncoder().encode(rest)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
}
