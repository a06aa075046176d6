import type { RoutedRequest } from '../../framework/routing.ts';
import type { RequestHead } from '../../openai/body-reader.ts';
import type { PickMutation } from '../codec/stream-action.ts';
import { CONTROL_HEADERS } from './control-headers.ts';
import { isRenamed } from './is-renamed.ts';

const REQUEST_ID = 'x-request-id';
/** No name can be found in an answer that is compressed. */
const ACCEPT_ENCODING = 'accept-encoding';

/** What a pick changes about the request. `contentLength` in bytes, undefined where the length is not ours to say. */
export function pickMutation(
  { request, destinations, headers }: RoutedRequest,
  { id, headers: sent }: RequestHead,
  contentLength: number | undefined,
): PickMutation {
  const setHeaders = [...headers];
  if (contentLength !== undefined) setHeaders.push(['content-length', String(contentLength)]);
  const named = (sent.get(REQUEST_ID) ?? '') !== '' || headers.has(REQUEST_ID);
  if (!named) setHeaders.push([REQUEST_ID, id]);
  return {
    destination: destinations.join(','),
    setHeaders,
    removeHeaders: [...CONTROL_HEADERS, ...(isRenamed(request) ? [ACCEPT_ENCODING] : [])].filter(
      (name) => sent.has(name) && !headers.has(name),
    ),
  };
}
