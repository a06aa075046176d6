import type { InferenceRequest } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import {
  ENCODE_HEADER,
  KV_SOURCE_HEADER,
  NEWER_SERVER_HEADERS,
  PIN_HEADER,
  PREFILL_HEADER,
} from '../../framework/routing.ts';
import type { PickMutation } from '../codec/stream-action.ts';
import type { SessionHead } from '../request-body/read-request.ts';
import { REPORT_FORMAT, REPORT_FORMAT_HEADER } from './read-load-report.ts';

/**
 * Headers besides the destination that steer a request: a client could send it, or a model server's
 * KV cache, anywhere. They are removed unless the pick sets them.
 */
const CONTROL_HEADERS: readonly string[] = [
  'x-gateway-destination-endpoint-subset',
  'x-gateway-destination-endpoint-served',
  'x-gateway-destination-endpoint-scores',
  PREFILL_HEADER,
  ENCODE_HEADER,
  'x-data-parallel-host-port',
  KV_SOURCE_HEADER,
  PIN_HEADER,
  ...Object.values(NEWER_SERVER_HEADERS),
];

const REQUEST_ID = 'x-request-id';
/** A model name cannot be restored in an answer that is compressed. */
const REMOVED_FROM_RENAMED: readonly string[] = [...CONTROL_HEADERS, 'accept-encoding'];

interface MutationOptions {
  /** In bytes; undefined leaves the header as it is. */
  readonly contentLength: number | undefined;
  /** Whether the proxy gets the score of each endpoint. */
  readonly withScores: boolean | undefined;
  /** Whether the model server is asked for its load. */
  readonly asksLoad: boolean;
}

/** The headers that the answer with the pick sets and removes. */
export function pickMutation(
  routed: RoutedRequest,
  { id, headers: sent, followed }: SessionHead,
  { contentLength, withScores, asksLoad }: MutationOptions,
): PickMutation {
  const { request, destinations, headers } = routed;
  const setHeaders = [...headers];
  if (contentLength !== undefined) setHeaders.push(['content-length', String(contentLength)]);
  const named = (sent.get(REQUEST_ID) ?? '') !== '' || headers.has(REQUEST_ID);
  if (!named) setHeaders.push([REQUEST_ID, id]);
  const traceparent = followed?.traceparent;
  if (traceparent !== undefined) setHeaders.push(['traceparent', traceparent]);
  if (asksLoad) setHeaders.push([REPORT_FORMAT_HEADER, REPORT_FORMAT]);
  return {
    destination: destinations.join(','),
    setHeaders,
    removeHeaders: (isRenamed(request) ? REMOVED_FROM_RENAMED : CONTROL_HEADERS).filter(
      (name) => sent.has(name) && !headers.has(name),
    ),
    ...(withScores === true && { scores: routed.scored }),
  };
}

/** Whether the model server is asked for another model than the client named, if any. */
export function isRenamed({ model, rewrite }: InferenceRequest): boolean {
  return rewrite !== undefined && rewrite.requestedModel !== model;
}
