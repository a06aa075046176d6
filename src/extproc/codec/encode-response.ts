import type { ReportedValue } from '../../framework/observer.ts';
import type { ScoredEndpoint } from '../../framework/scheduling.ts';
import { EchoMessage, type WireMessage } from './echo-message.ts';
import { writeReportedValues } from './reported-values.ts';
import type { PickMutation, StreamAction } from './stream-action.ts';
import { WireWriter } from './wire-writer.ts';

const OVERWRITE_IF_EXISTS_OR_ADD = 2;

const FIELD = {
  requestHeaders: 1,
  responseHeaders: 2,
  requestBody: 3,
  responseBody: 4,
  requestTrailers: 5,
  responseTrailers: 6,
  immediate: 7,
  dynamicMetadata: 8,
} as const;

const METADATA_NAMESPACE = 'envoy.lb';
const DESTINATION = 'x-gateway-destination-endpoint';
const SCORES = 'x-gateway-destination-endpoint-scores';

/** By field number: a response without content, which is its key and a length of 0. */
const EMPTY_RESPONSES: readonly Buffer[] = [0, 1, 2, 3, 4, 5, 6].map((field) =>
  Buffer.from([(field << 3) | 2, 0]),
);

/** Shared by all streams: encoding is synchronous, and `take` returns a copy. */
const writer = new WireWriter();

/** Encodes one action as a ProcessingResponse. `half-close` has no message. */
export function encodeResponse(
  action: Exclude<StreamAction, { readonly kind: 'half-close' }>,
): WireMessage {
  switch (action.kind) {
    case 'answer-request-headers':
      return encodePick(FIELD.requestHeaders, action.pick, undefined);
    case 'answer-request-body':
      return encodePick(FIELD.requestBody, action.pick, action.body);
    case 'echo-request-body':
      return new EchoMessage(FIELD.requestBody, action);
    case 'echo-response-body':
      return withMetadata(new EchoMessage(FIELD.responseBody, action), action.metadata);
    case 'answer-request-trailers':
      return emptyResponse(FIELD.requestTrailers);
    case 'answer-response-headers':
      return encodeResponseHeaders(action);
    case 'answer-response-body':
      return withMetadata(encodeBody(FIELD.responseBody, action.body), action.metadata);
    case 'answer-response-trailers':
      return withMetadata(emptyResponse(FIELD.responseTrailers), action.metadata);
    case 'immediate-response':
      return encodeImmediate(action);
  }
}

/** The fields of a message may be in any order: the metadata follows the response. */
function withMetadata(
  response: WireMessage,
  metadata: readonly ReportedValue[] | undefined,
): WireMessage {
  if (metadata === undefined) return response;
  writer.reset();
  writeReportedValues(writer, metadata);
  writer.message(FIELD.dynamicMetadata, 0);
  const reported = writer.take();
  return {
    byteLength: response.byteLength + reported.byteLength,
    copy: (target, start) =>
      response.copy(target, start) + reported.copy(target, start + response.byteLength),
  };
}

function emptyResponse(field: number): Buffer {
  return EMPTY_RESPONSES[field] as Buffer;
}

/** Writes the last field first, as the writer requires. */
function encodePick(
  field: number,
  pick: PickMutation | undefined,
  body: readonly Uint8Array[] | undefined,
): Buffer {
  if (pick === undefined) return encodeBody(field, body);
  const { destination, setHeaders, removeHeaders, scores } = pick;
  writer.reset();
  // Struct { envoy.lb: Value { Struct { destination: Value, scores: Value } } }
  let end = writer.written;
  if (scores !== undefined) writeScores(scores);
  const entry = writer.written;
  writer.text(3, destination);
  writer.message(2, entry);
  writer.text(1, DESTINATION);
  writer.message(1, entry);
  writer.message(5, end);
  writer.message(2, end);
  writer.text(1, METADATA_NAMESPACE);
  writer.message(1, end);
  writer.message(FIELD.dynamicMetadata, end);
  // HeadersResponse or BodyResponse { CommonResponse { HeaderMutation, clear_route_cache } }
  end = writer.written;
  writer.uint32(5, 1);
  if (body !== undefined) writeBody(body);
  const mutation = writer.written;
  writeRemovals(removeHeaders);
  writeHeaders(setHeaders);
  writeHeader(DESTINATION, destination);
  writer.message(2, mutation);
  writer.message(1, end);
  writer.message(field, end);
  return writer.take();
}

/** Entry of a Struct: scores: Value { Struct { address: Value { number } } } */
function writeScores(scores: readonly ScoredEndpoint[]): void {
  const end = writer.written;
  for (const { endpoint, score } of scores.toReversed()) {
    const entry = writer.written;
    writer.double(2, score);
    writer.message(2, entry);
    writer.text(1, endpoint.address);
    writer.message(1, entry);
  }
  writer.message(5, end);
  writer.message(2, end);
  writer.text(1, SCORES);
  writer.message(1, end);
}

/** BodyResponse { CommonResponse { BodyMutation } } */
function encodeBody(field: number, body: readonly Uint8Array[] | undefined): Buffer {
  if (body === undefined) return emptyResponse(field);
  writer.reset();
  const end = writer.written;
  writeBody(body);
  writer.message(1, end);
  writer.message(field, end);
  return writer.take();
}

/** Writes an empty body, too: it replaces the chunk. */
function writeBody(body: readonly Uint8Array[]): void {
  const end = writer.written;
  writer.bytes(1, body);
  writer.message(3, end);
}

function encodeResponseHeaders({
  setHeaders,
  removeHeaders = [],
}: Extract<StreamAction, { readonly kind: 'answer-response-headers' }>): WireMessage {
  if (setHeaders.length + removeHeaders.length === 0) return emptyResponse(FIELD.responseHeaders);
  writer.reset();
  // HeadersResponse { CommonResponse { HeaderMutation } }
  const end = writer.written;
  writeRemovals(removeHeaders);
  writeHeaders(setHeaders);
  writer.message(2, end);
  writer.message(1, end);
  writer.message(FIELD.responseHeaders, end);
  return writer.take();
}

function encodeImmediate({
  status,
  grpcStatus,
  headers,
  body,
}: Extract<StreamAction, { readonly kind: 'immediate-response' }>): Buffer {
  writer.reset();
  const end = writer.written;
  if (grpcStatus !== undefined) {
    writer.uint32(1, grpcStatus);
    writer.message(4, end);
  }
  writer.text(3, body);
  const mutation = writer.written;
  writeHeaders(headers);
  writer.message(2, mutation);
  const httpStatus = writer.written;
  writer.uint32(1, status);
  writer.message(1, httpStatus);
  writer.message(FIELD.immediate, end);
  return writer.take();
}

function writeHeaders(headers: readonly (readonly [string, string])[]): void {
  for (const [name, value] of headers.toReversed()) writeHeader(name, value);
}

/** Writes a HeaderValueOption of `set_headers`, with the value as `raw_value`. */
function writeHeader(name: string, value: string): void {
  const end = writer.written;
  writer.uint32(3, OVERWRITE_IF_EXISTS_OR_ADD);
  const header = writer.written;
  writer.text(3, value);
  writer.text(1, name);
  writer.message(1, header);
  writer.message(1, end);
}

function writeRemovals(names: readonly string[]): void {
  for (const name of names.toReversed()) writer.text(2, name);
}
