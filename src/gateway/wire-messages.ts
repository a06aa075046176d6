import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Dispatcher } from 'undici';
import { TimeoutError } from '../runtime/clock/deadline.ts';
import { NoConnection } from '../runtime/network/client/connect-within.ts';
import { BadAnswer } from '../runtime/network/client/interim-answers.ts';
import { whyNoConnection } from '../runtime/network/client/no-connection.ts';
import { unaskedAnswer } from '../runtime/network/client/unasked-answer.ts';
import { SINGLE_HOP } from '../runtime/network/single-hop.ts';
import type { ProcessingRequest } from './ext-proc-client.ts';
import { endToEndHeaders, type HeaderPair, toWire } from './header-mutation.ts';

/** The messages that the gateway sends to the picker about a request and its response. */

const DESTINATION = 'x-gateway-destination-endpoint';
const REQUEST_ID = 'x-request-id';
const SERVED = 'x-gateway-destination-endpoint-served';

/**
 * The headers of a request that are meant for its endpoint, and its id: that of its client, or a
 * new one. Only the picker may set the destination.
 */
export function requestHeaders({ rawHeaders }: IncomingMessage): {
  readonly headers: readonly HeaderPair[];
  readonly requestId: string;
} {
  const headers = endToEndHeaders(rawHeaders).filter(([name]) => name !== DESTINATION);
  const given = headers.findLast(([name]) => name === REQUEST_ID)?.[1] ?? '';
  if (given !== '') return { headers, requestId: given };
  const requestId = randomUUID();
  const others = headers.filter(([name]) => name !== REQUEST_ID);
  return { headers: [...others, [REQUEST_ID, requestId]], requestId };
}

/** The first message of a request. It asks for both bodies in full duplex. */
export function requestHead(
  { method = 'GET', url = '/', headers }: IncomingMessage,
  pairs: readonly HeaderPair[],
  hasBody: boolean,
): ProcessingRequest {
  const pseudo: readonly HeaderPair[] = [
    [':method', method],
    [':path', url],
    [':scheme', 'http'],
    [':authority', headers.host ?? ''],
  ];
  const plain = pairs.filter(([name]) => name !== 'host');
  return {
    request_headers: {
      headers: { headers: toWire([...pseudo, ...plain]) },
      end_of_stream: !hasBody,
    },
    protocol_config: {
      request_body_mode: 'FULL_DUPLEX_STREAMED',
      response_body_mode: 'FULL_DUPLEX_STREAMED',
    },
  };
}

/** The first message of a response: its status and its headers. */
export function responseHead(
  upstream: Dispatcher.ResponseData,
  fallback: string | undefined,
): ProcessingRequest {
  const status: HeaderPair = [':status', String(upstream.statusCode)];
  const headers = toWire([status, ...responseHeaders(upstream)]);
  return {
    response_headers: { headers: { headers }, end_of_stream: false },
    ...servedBy(fallback),
  };
}

/** The head of an answer of the gateway's own, which is all of it that a picker needs. */
export function ownHead(status: number, fallback: string | undefined): ProcessingRequest {
  const headers = toWire([[':status', String(status)]]);
  return { response_headers: { headers: { headers }, end_of_stream: true }, ...servedBy(fallback) };
}

/** Says which endpoint was asked last, as Envoy does, where that is not the first choice. */
function servedBy(fallback: string | undefined): Pick<ProcessingRequest, 'metadata_context'> {
  if (fallback === undefined) return {};
  const fields = { [SERVED]: { stringValue: fallback } };
  return { metadata_context: { filter_metadata: { 'envoy.lb': { fields } } } };
}

/** The message after the last piece of a response's body. */
export function responseEnd(upstream: Dispatcher.ResponseData): ProcessingRequest {
  const pairs = responseTrailers(upstream);
  return pairs.length === 0
    ? { response_body: { body: Buffer.alloc(0), end_of_stream: true } }
    : { response_trailers: { trailers: { headers: toWire(pairs) } } };
}

/** The headers of a response that are meant for the client, in their order. */
export function responseHeaders({ headers }: Dispatcher.ResponseData): readonly HeaderPair[] {
  // A flat list with `responseHeaders: 'raw'`, which undici's types do not declare.
  const flat = headers as unknown as readonly (string | Buffer)[];
  return endToEndHeaders(
    flat.map((each) => (typeof each === 'string' ? each : each.toString('latin1'))),
  );
}

/** The trailers of a response that are meant for the client. */
export function responseTrailers({
  trailers,
}: Dispatcher.ResponseData): [name: string, value: string][] {
  // undici has a list for one that comes twice, which its types do not declare.
  const lists = Object.entries(trailers as Record<string, string | string[]>);
  return lists.flatMap(([name, values]) =>
    SINGLE_HOP.has(name) ? [] : [values].flat().map((value): [string, string] => [name, value]),
  );
}

/** Errors about what a server has sent. */
const NO_HTTP = /^(?:HTTPParser|FloodingServer|ResponseContentLengthMismatch)Error$/;

/** Why an answer is no HTTP. Undefined where the error is another one. */
function whyNoHttp(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return NO_HTTP.test(error.name) ? error.message : unaskedAnswer(error);
}

/** What a client gets where the picked endpoint gave no answer. */
export function endpointFailure(error: unknown): {
  readonly status: number;
  readonly sentence: string;
} {
  if (isTooLate(error) || error instanceof BadAnswer) {
    const status = error instanceof BadAnswer ? 502 : 504;
    return { status, sentence: `the picked endpoint ${error.message}` };
  }
  const fault = whyNoHttp(error);
  if (fault !== undefined)
    return { status: 502, sentence: `the picked endpoint answered no valid HTTP: ${fault}` };
  return { status: 503, sentence: `the picked endpoint cannot be reached: ${String(error)}` };
}

/** Whether a connection was there, and no headers came in time. */
function isTooLate(error: unknown): error is TimeoutError {
  return error instanceof TimeoutError && !(error instanceof NoConnection);
}

/**
 * Why an endpoint gave no answer, where another one may be asked. Undefined where it has sent
 * something, or has had all the time there was.
 */
export function whyAnotherMayAnswer(error: unknown): string | undefined {
  if (isTooLate(error) || error instanceof BadAnswer) return undefined;
  if (whyNoHttp(error) !== undefined) return undefined;
  return error instanceof Error ? error.message : String(error);
}

/**
 * What a client gets where the picker's stream has failed, without what only the library's authors
 * can read.
 */
export function pickerFailure({ message }: Error): string {
  const text = message.replace(/ Resolution note:.*/, '').trim();
  // A client that was closed while it connected says so.
  const why = text.includes('Channel closed before call started') ? '' : whyNoConnection(text);
  if (why === undefined) return `the endpoint picker failed: ${text}`;
  const advice = 'does it run, and do gateway and picker both have --insecure, or neither?';
  return `no connection to the endpoint picker${why && ` (${why})`}: ${advice}`;
}

/** An error of the gateway itself, in OpenAI's format, with the HTTP status as the picker's. */
export function errorBody(status: number, message: string): string {
  const type = status < 500 ? 'invalid_request_error' : 'server_error';
  const error = { message, type, param: null, code: status, reason: 'gateway' };
  return JSON.stringify({ error });
}

/** Where the request may go, the picker's first choice first. Each of them comes once. */
export function destinationsOf(headers: readonly HeaderPair[]): readonly string[] {
  const named = headers.find(([name]) => name === DESTINATION)?.[1] ?? '';
  const addresses = named.split(',').map((each) => each.trim());
  return [...new Set(addresses)].filter((each) => each !== '');
}
