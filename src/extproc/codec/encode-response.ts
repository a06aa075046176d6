import { EchoMessage } from './echo-message.ts';
import type { PickMutation, StreamAction } from './stream-action.ts';
import type { WireMessage } from './wire-message.ts';
import { WireWriter } from './wire-writer.ts';

const OVERWRITE_IF_EXISTS_OR_ADD = 2;

/** Numbers of ProcessingResponse's fields. */
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

/** An answer without content is always the same two bytes: its key and a length of 0. */
const EMPTY_ANSWERS = {
  requestHeaders: emptyAnswer(FIELD.requestHeaders),
  responseHeaders: emptyAnswer(FIELD.responseHeaders),
  requestBody: emptyAnswer(FIELD.requestBody),
  responseBody: emptyAnswer(FIELD.responseBody),
  requestTrailers: emptyAnswer(FIELD.requestTrailers),
  responseTrailers: emptyAnswer(FIELD.responseTrailers),
} as const;

/** One for all: encoding is synchronous, and what it gives out is a copy. */
const writer = new WireWriter();

/** One action to a ProcessingResponse. `half-close` has no message and must not be passed. */
export function encodeResponse(
  action: Exclude<StreamAction, { readonly kind: 'half-close' }>,
): WireMessage {
  switch (action.kind) {
    case 'answer-request-headers':
      return action.pick === undefined
        ? EMPTY_ANSWERS.requestHeaders
        : encodePick(FIELD.requestHeaders, action.pick);
    case 'answer-request-body':
      if (action.pick !== undefined) {
        return encodePick(FIELD.requestBody, action.pick, action.body);
      }
      return action.body === undefined
        ? EMPTY_ANSWERS.requestBody
        : encodeBody(FIELD.requestBody, action.body);
    case 'echo-request-body':
      return new EchoMessage(FIELD.requestBody, action);
    case 'echo-response-body':
      return new EchoMessage(FIELD.responseBody, action);
    case 'answer-request-trailers':
      return EMPTY_ANSWERS.requestTrailers;
    case 'answer-response-headers':
      return encodeResponseHeaders(action);
    case 'answer-response-body':
      return action.body === undefined
        ? EMPTY_ANSWERS.responseBody
        : encodeBody(FIELD.responseBody, action.body);
    case 'answer-response-trailers':
      return EMPTY_ANSWERS.responseTrailers;
    case 'reject':
      return encodeReject(action);
  }
}

/** Written back to front, as the writer does. */
function encodePick(
  field: number,
  { destination, setHeaders, removeHeaders }: PickMutation,
  body?: readonly Uint8Array[],
): Buffer {
  writer.reset();
  // Struct { envoy.lb: Value { Struct { destination: Value } } }
  let end = writer.written;
  writer.text(3, destination);
  writer.message(2, end);
  writer.text(1, DESTINATION);
  writer.message(1, end);
  writer.message(5, end);
  writer.message(2, end);
  writer.text(1, METADATA_NAMESPACE);
  writer.message(1, end);
  writer.message(FIELD.dynamicMetadata, end);
  // HeadersResponse or BodyResponse { CommonResponse { HeaderMutation, clear_route_cache } }
  end = writer.written;
  writer.flag(5);
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

/** BodyResponse { CommonResponse { BodyMutation } } */
function encodeBody(field: number, body: readonly Uint8Array[]): Buffer {
  writer.reset();
  const end = writer.written;
  writeBody(body);
  writer.message(1, end);
  writer.message(field, end);
  return writer.take();
}

/** Also one of no bytes: it is what the chunk is replaced by. */
function writeBody(body: readonly Uint8Array[]): void {
  const end = writer.written;
  writer.bytes(1, body);
  writer.message(3, end);
}

function encodeResponseHeaders({
  setHeaders,
  removeHeaders = [],
}: Extract<StreamAction, { readonly kind: 'answer-response-headers' }>): WireMessage {
  if (setHeaders.length + removeHeaders.length === 0) return EMPTY_ANSWERS.responseHeaders;
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

function encodeReject({
  status,
  headers,
  body,
}: Extract<StreamAction, { readonly kind: 'reject' }>): Buffer {
  writer.reset();
  const end = writer.written;
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

/** A HeaderValueOption in a HeaderMutation's `set_headers`, its value as `raw_value`. */
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

function emptyAnswer(field: number): Buffer {
  return Buffer.from([(field << 3) | 2, 0]);
}
