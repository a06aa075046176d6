import type { PickMutation, StreamAction } from './stream-action.ts';

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

const DESTINATION = 'x-gateway-destination-endpoint';

/** Answers without content are always the same bytes. */
const EMPTY_ANSWERS = {
  requestHeaders: messageField(FIELD.requestHeaders, Buffer.alloc(0)),
  responseHeaders: messageField(FIELD.responseHeaders, Buffer.alloc(0)),
  requestBody: messageField(FIELD.requestBody, Buffer.alloc(0)),
  responseBody: messageField(FIELD.responseBody, Buffer.alloc(0)),
  requestTrailers: messageField(FIELD.requestTrailers, Buffer.alloc(0)),
  responseTrailers: messageField(FIELD.responseTrailers, Buffer.alloc(0)),
};

/** One action to a ProcessingResponse. `half-close` has no message and must not be passed. */
export function encodeResponse(action: Exclude<StreamAction, { kind: 'half-close' }>): Buffer {
  switch (action.kind) {
    case 'answer-request-headers':
      return action.pick === undefined
        ? EMPTY_ANSWERS.requestHeaders
        : encodePick(FIELD.requestHeaders, action.pick);
    case 'answer-request-body':
      return action.pick === undefined
        ? EMPTY_ANSWERS.requestBody
        : encodePick(FIELD.requestBody, action.pick);
    case 'echo-request-body':
      return encodeEcho(FIELD.requestBody, action.pieces, action.endOfStream);
    case 'echo-response-body':
      return encodeEcho(FIELD.responseBody, action.pieces, action.endOfStream);
    case 'answer-request-trailers':
      return EMPTY_ANSWERS.requestTrailers;
    case 'answer-response-headers':
      return EMPTY_ANSWERS.responseHeaders;
    case 'answer-response-body':
      return EMPTY_ANSWERS.responseBody;
    case 'answer-response-trailers':
      return EMPTY_ANSWERS.responseTrailers;
    case 'reject':
      return encodeReject(action);
  }
}

/** Body bytes are copied once, into the one buffer that is sent. */
function encodeEcho(field: number, pieces: readonly Uint8Array[], endOfStream: boolean): Buffer {
  let bodyBytes = 0;
  for (const piece of pieces) bodyBytes += piece.length;
  // StreamedBodyResponse < BodyMutation < CommonResponse < BodyResponse < ProcessingResponse
  const streamed = (bodyBytes > 0 ? lengthOf(bodyBytes) : 0) + (endOfStream ? 2 : 0);
  const mutation = lengthOf(streamed);
  const common = lengthOf(mutation);
  const body = lengthOf(common);
  const out = Buffer.allocUnsafe(lengthOf(body));
  let at = writeKey(out, 0, field, body);
  at = writeKey(out, at, 1, common);
  at = writeKey(out, at, 3, mutation);
  at = writeKey(out, at, 3, streamed);
  if (bodyBytes > 0) {
    at = writeKey(out, at, 1, bodyBytes);
    for (const piece of pieces) {
      out.set(piece, at);
      at += piece.length;
    }
  }
  if (endOfStream) {
    out[at] = (2 << 3) | 0;
    out[at + 1] = 1;
  }
  return out;
}

function encodePick(
  field: number,
  { destination, setHeaders, removeHeaders }: PickMutation,
): Buffer {
  const mutation = headerMutation([[DESTINATION, destination], ...setHeaders], removeHeaders);
  const clearRouteCache = Buffer.from([(5 << 3) | 0, 1]);
  const common = Buffer.concat([messageField(2, mutation), clearRouteCache]);
  const answer = messageField(field, messageField(1, common));
  const metadata = struct(
    'envoy.lb',
    messageField(5, struct(DESTINATION, textField(3, destination))),
  );
  return Buffer.concat([answer, messageField(FIELD.dynamicMetadata, metadata)]);
}

function encodeReject({
  status,
  headers,
  body,
}: Extract<StreamAction, { kind: 'reject' }>): Buffer {
  const code = Buffer.alloc(1 + varintBytes(status));
  code[0] = 1 << 3;
  writeVarint(code, 1, status);
  const message = Buffer.concat([
    messageField(1, code),
    messageField(2, headerMutation(headers, [])),
    textField(3, body),
  ]);
  return messageField(FIELD.immediate, message);
}

function headerMutation(
  set: readonly (readonly [string, string])[],
  remove: readonly string[],
): Buffer {
  const overwrite = Buffer.from([(3 << 3) | 0, OVERWRITE_IF_EXISTS_OR_ADD]);
  return Buffer.concat([
    ...set.map(([name, value]) => {
      const header = Buffer.concat([textField(1, name), textField(3, value)]);
      return messageField(1, Buffer.concat([messageField(1, header), overwrite]));
    }),
    ...remove.map((name) => textField(2, name)),
  ]);
}

/** A google.protobuf.Struct with one entry; `value` is an encoded Value. */
function struct(key: string, value: Buffer): Buffer {
  return messageField(1, Buffer.concat([textField(1, key), messageField(2, value)]));
}

function textField(field: number, text: string): Buffer {
  return messageField(field, Buffer.from(text, 'utf8'));
}

/** A length-delimited field. All our field numbers are below 16, so a key is one byte. */
function messageField(field: number, content: Buffer): Buffer {
  const out = Buffer.allocUnsafe(lengthOf(content.length));
  content.copy(out, writeKey(out, 0, field, content.length));
  return out;
}

/** Bytes of a length-delimited field with `contentBytes` of content, key and length included. */
function lengthOf(contentBytes: number): number {
  return 1 + varintBytes(contentBytes) + contentBytes;
}

function writeKey(out: Buffer, at: number, field: number, contentBytes: number): number {
  out[at] = (field << 3) | 2;
  return writeVarint(out, at + 1, contentBytes);
}

function writeVarint(out: Buffer, start: number, value: number): number {
  let at = start;
  let rest = value;
  while (rest >= 0x80) {
    out[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  out[at++] = rest;
  return at;
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest >>>= 7) bytes += 1;
  return bytes;
}
