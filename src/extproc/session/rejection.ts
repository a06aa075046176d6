import { ERRORS, type RoutingError } from '../../framework/error.ts';
import type { StreamAction } from '../codec/stream-action.ts';

/** What a client should wait before it tries again, where trying again can help. */
const RETRY_AFTER_SECONDS = '1';

/** A routing error as the client sees it: its status and a JSON body in OpenAI's error shape. */
export function rejection({ code, sentence }: RoutingError): StreamAction {
  const { status, type, droppedReason } = ERRORS[code];
  const headers: (readonly [string, string])[] = [['content-type', 'application/json']];
  if (droppedReason !== undefined) headers.push(['x-llm-d-request-dropped-reason', droppedReason]);
  if (status === 429 || status === 503) headers.push(['retry-after', RETRY_AFTER_SECONDS]);
  const body = JSON.stringify({ error: { message: sentence, type, param: null, code } });
  return { kind: 'reject', status, headers, body };
}
