import { ERRORS, type RoutingError } from '../../framework/error.ts';
import type { StreamAction } from '../codec/stream-action.ts';

/** Seconds that a client should wait before it tries again, where trying again can help. */
const RETRY_AFTER_SECONDS = '1';
/** `application/grpc`, alone or with a format behind it. Not `application/grpc-web`. */
const GRPC_TYPE = /^application\/grpc(?:[+;]|$)/i;

/** Whether requests with this content type are gRPC, whose clients read no HTTP status. */
export function isGrpcType(contentType: string | undefined): boolean {
  return contentType !== undefined && GRPC_TYPE.test(contentType);
}

/** A routing error as the client gets it: as JSON in OpenAI's error shape, or as gRPC's status. */
export function rejection({ code, sentence }: RoutingError, isGrpc: boolean): StreamAction {
  const { status, grpcStatus, type, droppedReason } = ERRORS[code];
  const headers: (readonly [name: string, value: string])[] = [
    ['content-type', isGrpc ? 'application/grpc' : 'application/json'],
  ];
  if (droppedReason !== undefined) headers.push(['x-llm-d-request-dropped-reason', droppedReason]);
  if (status === 429 || status === 503) headers.push(['retry-after', RETRY_AFTER_SECONDS]);
  if (isGrpc) {
    headers.push(['grpc-status', String(grpcStatus)], ['grpc-message', grpcMessage(sentence)]);
    return { kind: 'reject', status: 200, grpcStatus, headers, body: '' };
  }
  const body = JSON.stringify({ error: { message: sentence, type, param: null, code } });
  return { kind: 'reject', status, headers, body };
}

/** The header's encoding: all but visible ASCII as `%` and two hexadecimal digits a byte. */
function grpcMessage(sentence: string): string {
  return sentence.replace(/[^\x20-\x24\x26-\x7e]+/g, (rest) =>
    [...new TextEncoder().encode(rest)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
}
