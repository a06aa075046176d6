import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { createPrompts } from '../load/prompts.ts';
import { frameOf } from '../support/ext-proc-frames.ts';

/** What one request sends on its ext_proc stream, as bytes of gRPC frames. */
export interface PreparedRequest {
  /** The request's headers. */
  readonly headers: Buffer;
  /** The request's body, in messages as large as Envoy's. */
  readonly body: Buffer;
  readonly responseHeaders: Buffer;
  /** One message each. */
  readonly responseBody: readonly Buffer[];
  /** Messages that the picker answers before the response begins. */
  readonly answersToRequest: number;
}

/** Full duplex for both bodies. */
const FULL_DUPLEX = 4;
const KIB = 1024;
const PIECE_BYTES = 16 * KIB;
/** The picker sends a body back in pieces of so many bytes. */
const ECHO_BYTES = 62_000;
const PREPARED = 200;
const SEED = 20_260;

/** So many different requests that a run goes through them again and again. */
export function prepareRequests(bodyKib: number, chunks: number): readonly PreparedRequest[] {
  const bodyBytes = bodyKib * KIB;
  const next = createPrompts({
    bodyBytes,
    stream: chunks > 0,
    random: seededRandom(SEED),
  });
  const headers = requestHeaders(bodyBytes);
  const responseHeaders = frameOf({
    response_headers: headerMap({
      ':status': '200',
      'content-type': chunks > 0 ? 'text/event-stream' : 'application/json',
      'x-envoy-upstream-service-time': '3',
    }),
  });
  const responseBody = responseFrames(chunks);
  const answersToRequest = 1 + Math.ceil(bodyBytes / ECHO_BYTES);
  return Array.from({ length: PREPARED }, () => {
    const http = next();
    const body = bodyFrames(http.subarray(http.indexOf('\r\n\r\n') + 4));
    return { headers, body, responseHeaders, responseBody, answersToRequest };
  });
}

function requestHeaders(bodyBytes: number): Buffer {
  return frameOf({
    protocol_config: { request_body_mode: FULL_DUPLEX, response_body_mode: FULL_DUPLEX },
    request_headers: headerMap({
      ':method': 'POST',
      ':path': '/v1/chat/completions',
      ':authority': 'bench',
      ':scheme': 'http',
      'content-type': 'application/json',
      'content-length': String(bodyBytes),
      'x-forwarded-proto': 'http',
      'x-request-id': 'd3b07384-d113-4ec6-a5e5-7a2b2c3d4e5f',
      'x-envoy-expected-rq-timeout-ms': '15000',
    }),
  });
}

function bodyFrames(body: Buffer): Buffer {
  const frames: Buffer[] = [];
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    const piece = body.subarray(at, at + PIECE_BYTES);
    const last = at + PIECE_BYTES >= body.length;
    frames.push(frameOf({ request_body: { body: piece, end_of_stream: last } }));
  }
  return Buffer.concat(frames);
}

function responseFrames(chunks: number): readonly Buffer[] {
  if (chunks === 0) return [responseFrame(usageDocument(), true)];
  return Array.from({ length: chunks }, (_, index) =>
    responseFrame(`data: ${eventDocument(index)}\n\n`, index === chunks - 1),
  );
}

function responseFrame(text: string, last: boolean): Buffer {
  return frameOf({ response_body: { body: Buffer.from(text), end_of_stream: last } });
}

function usageDocument(): string {
  const usage = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 };
  return JSON.stringify({ usage, choices: [] });
}

function eventDocument(index: number): string {
  const delta = { role: 'assistant', content: ` word${index}` };
  return JSON.stringify({
    id: 'chatcmpl-7d1c2f0e9b7a4f0c8d35',
    object: 'chat.completion.chunk',
    created: 1_790_000_000,
    model: 'meta-llama/Llama-3.1-8B-Instruct',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: null }],
  });
}

function headerMap(headers: Readonly<Record<string, string>>): object {
  const list = Object.entries(headers).map(([key, value]) => ({
    key,
    raw_value: Buffer.from(value),
  }));
  return { headers: { headers: list } };
}
