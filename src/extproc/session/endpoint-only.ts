import { RoutingError } from '../../framework/error.ts';
import { hasPreference, RESERVE_ENDPOINT } from '../../framework/preference.ts';
import {
  ENCODE_HEADER,
  KV_SOURCE_HEADER,
  PREFILL_HEADER,
  type RoutedRequest,
} from '../../framework/routing.ts';
import type { StreamAction } from '../codec/stream-action.ts';
import type { SessionRules } from './session-rules.ts';

/** Headers for the model server's sidecar, to which the caller then sends them itself. */
const SERVER_HEADERS = [PREFILL_HEADER, ENCODE_HEADER, KV_SOURCE_HEADER];
const NO_CONTENT = 204;

/**
 * Whether the request asks which endpoint it would go to, and is not to be sent there. Throws
 * RoutingError where no plugin lets it ask, or where it has no body to decide by.
 */
export function asksForEndpoint(
  headers: ReadonlyMap<string, string>,
  endOfStream: boolean,
  { answersEndpointOnly }: Pick<SessionRules, 'answersEndpointOnly'>,
): boolean {
  if (!hasPreference(headers, RESERVE_ENDPOINT)) return false;
  if (endOfStream) {
    throw new RoutingError('invalid-request', `Prefer: ${RESERVE_ENDPOINT} needs a body`);
  }
  if (answersEndpointOnly?.() === true) return true;
  const text = `Prefer: ${RESERVE_ENDPOINT} needs a plugin ${RESERVE_ENDPOINT} in the picker's configuration`;
  throw new RoutingError('internal', text);
}

/** Ends the request with an answer that names its endpoint. */
export function answerWithEndpoint(
  routed: RoutedRequest,
  emit: (action: StreamAction) => void,
): void {
  const { destinations, headers } = routed;
  const [endpoint = ''] = destinations;
  routed.done('completed');
  const forSidecar = SERVER_HEADERS.flatMap((name) => {
    const value = headers.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  emit({
    kind: 'immediate-response',
    status: NO_CONTENT,
    headers: [
      ['x-llm-d-reserved-host-port', endpoint],
      ['preference-applied', RESERVE_ENDPOINT],
      ...forSidecar,
    ],
    body: '',
  });
}
