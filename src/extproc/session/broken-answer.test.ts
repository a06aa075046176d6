import { describe, expect, it } from 'vitest';
import {
  BODY,
  headers,
  PLAIN,
  RESPONSE_TRAILERS,
  requestBody,
  requestHeaders,
  responseEnd,
  responsePart,
  setUp,
} from '../../../test/support/session/session-bed.ts';
import { BODY_MODE, DEFAULT_PROTOCOL, type StreamEvent } from '../codec/stream-event.ts';

const STREAM = { ':status': '200', 'content-type': 'text/event-stream' };
const PART = 'data: {"choices":[{"text":"a","finish_reason":null}]}\n\n';
const STOP = 'data: {"choices":[{"text":"","finish_reason":"stop"}]}\n\n';

const outcomeOf = (pairs: Record<string, string>, ...rest: readonly StreamEvent[]): string =>
  outcomeIn(setUp(), pairs, rest);
/** Where a plugin reports values of the answer at its end. */
const reportedOutcomeOf = (...rest: readonly StreamEvent[]): string =>
  outcomeIn(
    setUp({}, undefined, undefined, () => []),
    STREAM,
    rest,
  );

function outcomeIn(
  { send, session, ended }: ReturnType<typeof setUp>,
  pairs: Record<string, string>,
  rest: readonly StreamEvent[],
): string {
  const head: StreamEvent = {
    ...PLAIN,
    kind: 'response-headers',
    headers: headers(pairs),
    endOfStream: false,
  };
  send(requestHeaders(), requestBody(BODY), head, responsePart(PART), ...rest);
  session.closed('ended');
  return ended.map(({ outcome }) => outcome).join();
}

describe('a stream of events after a 200', () => {
  it.each([
    ['nothing more', ''],
    ['half an event', 'data: {"choices":[{"te'],
    [
      'half of a long last event',
      `data: {"type":"response.completed","response":{"status":"completed","output":"${'a'.repeat(20_000)}`,
    ],
    [
      'text that talks of an end',
      'data: {"choices":[{"text":"\\"finish_reason\\":\\"stop\\""}]}\n\n',
    ],
  ])('[V430] has failed where it ends with %s', (_, last) => {
    expect(outcomeOf(STREAM, responseEnd(last))).toBe('failed');
    expect(outcomeOf(STREAM, responsePart(last), RESPONSE_TRAILERS)).toBe('failed');
  });

  it.each([
    'data: [DONE]\n\n',
    STOP,
    `${STOP}data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n`,
    'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    'data: {"type":"response.incomplete","response":{}}\n\n',
    'data: {"error":{"message":"no","code":400}}\n\n',
    // The end of its type, far before, is not kept.
    `data: {"type":"response.completed","response":{"output":"${'a'.repeat(20_000)}","status":"completed","usage":{"input_tokens":1},"user":null}}\n\n`,
    // OpenAI's order: status first, and the usage behind all of the text.
    `data: {"type":"response.completed","response":{"status":"completed","output":"${'a'.repeat(20_000)}","usage":{"input_tokens":1},"user":null}}\n\n`,
    `data: {"type":"image_generation.completed","b64_json":"${'a'.repeat(20_000)}","usage":{"input_tokens":1}}\n\n`,
    'data: {"type":"speech.audio.done","usage":{"input_tokens":1}}\n\n',
    'data: {"type":"image_generation.completed","b64_json":""}\n\n',
    'data: {"candidates":[{"finishReason":"STOP"}]}\n\n',
  ])('[V430] is whole where it ends with %j', (last) => {
    expect(outcomeOf(STREAM, responseEnd(last))).toBe('completed');
    const half = Math.floor(last.length / 2);
    const parts = [responsePart(last.slice(0, half)), responseEnd(last.slice(half))];
    expect(outcomeOf(STREAM, ...parts)).toBe('completed');
  });

  it.each([
    // vLLM, SGLang and TensorRT-LLM; earlier vLLM; Triton; Anthropic; Dynamo; OpenAI's responses.
    'data: {"error":{"message":"CUDA error","type":"InternalServerError","code":500}}\n\n',
    'data: {"object":"error","message":"CUDA error","type":"InternalServerError","code":500}\n\n',
    'data: {"error":"CUDA error"}\n\n',
    'event: error\r\ndata: {"type":"error","error":{"type":"overloaded_error"}}\r\n\r\n',
    'event: error\ndata: CUDA error\n\n',
    'event: error\n: CUDA error\n\n',
    'event:error\ndata:{"message":"CUDA error"}\n\n',
    'data: {"type":"response.failed","response":{"status":"failed","error":{"code":"server_error"}}}\n\n',
  ])('[V617] has failed where its server says so: %j', (last) => {
    for (const end of ['', 'data: [DONE]\n\n']) {
      expect(outcomeOf(STREAM, responsePart(last), responseEnd(end))).toBe('failed');
      expect(outcomeOf(STREAM, responsePart(last + end), RESPONSE_TRAILERS)).toBe('failed');
    }
  });

  it.each([
    'data: {"error":{"message":"no","type":"BadRequestError","code":400}}\n\n',
    'data: {"object":"error","type":"NotFoundError","code":"404"}\n\n',
    'data: {"error":{"type":"invalid_request_error","code":"context_length_exceeded"}}\n\n',
    'event: error\ndata: {"type":"error","error":{"type":"rate_limit_error"}}\n\n',
    'event: error\ndata: {"message":"no","code":422}\n\n',
    'data: {"type":"response.completed","response":{"error":null}}\n\n',
    'data: {"choices":[{"delta":{"content":"{\\"error\\":{\\"code\\":500}}"}}]}\n\n',
    'data: {"choices":[{"logprobs":{"error":{"code":500}}}]}\n\n',
  ])(
    '[V617] has not failed where its request is to blame, or it speaks of an error: %j',
    (last) => {
      expect(outcomeOf(STREAM, responsePart(last), responseEnd('data: [DONE]\n\n'))).toBe(
        'completed',
      );
    },
  );

  it('[V430] is not judged where its text cannot be read, or it is an error of the client', () => {
    expect(outcomeOf({ ...STREAM, 'content-encoding': 'gzip' }, responseEnd(''))).toBe('completed');
    expect(outcomeOf({ ...STREAM, ':status': '404' }, responseEnd(''))).toBe('completed');
  });

  it('[V430] is whole where plugins asked for its usage, which it does not name', () => {
    const whole = responseEnd('data: [DONE]\n\n');
    expect(reportedOutcomeOf(responsePart(STOP), whole)).toBe('completed');
    expect(reportedOutcomeOf(responsePart(STOP), RESPONSE_TRAILERS)).toBe('completed');
    expect(reportedOutcomeOf(responseEnd(''))).toBe('failed');
  });

  it('[V431] that does not end has not failed: so it looks when a client leaves', () => {
    expect(outcomeOf(STREAM)).toBe('aborted');
    expect(outcomeOf(STREAM, responsePart('data: {"choices":[{"te'))).toBe('aborted');
  });

  it.each([PLAIN.protocol, { ...DEFAULT_PROTOCOL, responseBodyMode: BODY_MODE.none }])(
    '[V473] that does not end has failed where the proxy says that its server cut it: %j',
    (protocol) => {
      const { send, session, ended } = setUp();
      const kind = 'response-headers';
      send({ ...requestHeaders(), protocol }, requestBody(BODY));
      send({ ...PLAIN, kind, headers: headers(STREAM), endOfStream: false });
      session.answerCut();
      session.closed('cancelled');
      expect(ended.map(({ outcome }) => outcome)).toEqual(['failed']);
    },
  );

  it('[V473] that has ended is whole, whatever the proxy says', () => {
    const { send, session, ended } = setUp();
    const kind = 'response-headers';
    send(requestHeaders(), requestBody(BODY));
    send({ ...PLAIN, kind, headers: headers(STREAM), endOfStream: false });
    send(responseEnd('data: [DONE]\n\n'));
    session.answerCut();
    session.closed('cancelled');
    expect(ended.map(({ outcome }) => outcome)).toEqual(['completed']);
  });
});

describe('a whole answer with a 200', () => {
  const JSON_TYPE = { ':status': '200', 'content-type': 'application/json' };

  /** The answer to a request with this path, in these pieces. */
  function wholeOutcome(
    pairs: Record<string, string>,
    pieces: readonly string[],
    path = '/v1/chat/completions',
  ): string {
    const { send, session, ended } = setUp();
    const body = pieces.map((piece, at) =>
      at === pieces.length - 1 ? responseEnd(piece) : responsePart(piece),
    );
    const endOfStream = body.length === 0;
    const all = headers(pairs);
    send(requestHeaders({ pairs: { ':path': path } }), requestBody(BODY));
    send({ ...PLAIN, kind: 'response-headers', headers: all, endOfStream }, ...body);
    session.closed('ended');
    return ended.map(({ outcome }) => outcome).join();
  }

  it('[V617] has failed where it is an error of the server, and not where the request is to blame', () => {
    const outcomeFor = (answer: object): string =>
      wholeOutcome(JSON_TYPE, [JSON.stringify(answer)]);
    expect(outcomeFor({ error: { message: 'CUDA error', code: 500 } })).toBe('failed');
    expect(outcomeFor({ status: 'failed', error: { code: 'server_error' } })).toBe('failed');
    expect(outcomeFor({ error: { message: 'too long', code: 400 } })).toBe('completed');
    expect(outcomeFor({ error: null, choices: [] })).toBe('completed');
    expect(outcomeFor({ choices: [{ error: { code: 500 } }] })).toBe('completed');
  });

  it.each([
    ['no body', []],
    ['an empty body', ['']],
    ['white space', ['\n', ' ']],
    ['half an object', ['{"choices":[{"te']],
    ['what is no JSON', ['\u0000\u0001 out of order']],
    ['half of a long object', [`{"choices":[{"text":"${'a'.repeat(20_000)}`]],
  ])('[V469] has failed where it is JSON by its type and has %s', (_, pieces) => {
    expect(wholeOutcome(JSON_TYPE, pieces)).toBe('failed');
  });

  it('[V469] has failed where it has neither a type nor a body, or is a page of HTML', () => {
    expect(wholeOutcome({ ':status': '200', 'content-length': '0' }, [])).toBe('failed');
    const html = { ':status': '200', 'content-type': 'text/html; charset=utf-8' };
    expect(wholeOutcome(html, ['<html><body>It works!</body></html>'])).toBe('failed');
  });

  it.each([
    ['an object', ['{"choices":[]}']],
    ['an object in pieces, and a line end', ['{"choices":', '[]}', '\r\n']],
    ['a long object', [`{"data":"${'a'.repeat(20_000)}"`, '}', ' '.repeat(3)]],
    ['a list', ['[{"score":1}]']],
    ['a text', ['"transcribed"']],
  ])('[V469] has not failed where it is JSON and has %s', (_, pieces) => {
    expect(wholeOutcome(JSON_TYPE, pieces)).toBe('completed');
  });

  it.each([
    [
      { ':status': '200', 'content-type': 'application/json', 'content-encoding': 'gzip' },
      ['\u0001'],
    ],
    [{ ':status': '200', 'content-type': 'audio/mpeg' }, ['\u0001']],
    [{ ':status': '200', 'content-type': 'text/plain' }, []],
    [{ ':status': '200' }, ['\u0001']],
    [{ ':status': '204' }, []],
    [{ ':status': '307' }, []],
    [{ ':status': '404', 'content-type': 'application/json' }, []],
  ])('[V469] is not judged where %j has %j', (pairs, pieces) => {
    expect(wholeOutcome(pairs, pieces)).toBe('completed');
  });

  it('[V469] is not judged where the path is of no API that is known', () => {
    expect(wholeOutcome(JSON_TYPE, [], '/v2/unknown')).toBe('completed');
  });
});
