import { describe, expect, it } from 'vitest';
import {
  BODY,
  EARLY,
  headers,
  mode,
  PLAIN,
  RESPONSE_TRAILERS,
  requestBody,
  requestHeaders,
  responseEnd,
  responseHeaders,
  responsePart,
  responseTrailers,
  setUp,
  textOf,
} from '../../../test/support/session/session-bed.ts';
import type { ReportedValue, Usage } from '../../framework/observer.ts';
import { BODY_MODE, type StreamEvent } from '../codec/stream-event.ts';

function usageOf(promptTokens: number, completionTokens: number): Usage {
  return { promptTokens, completionTokens, cachedTokens: undefined };
}

describe('the answer to a request', () => {
  it('[P35] reports the conversation once, before the end, after a success and not after an answer that is cut off', () => {
    const said = 'b'.repeat(600);
    const answer = `data: {"choices":[{"delta":{"content":"${said}"}}]}\n\n`;
    const type = { 'content-type': 'text/event-stream' };
    const head = (pairs: Record<string, string>): StreamEvent => ({
      ...PLAIN,
      kind: 'response-headers',
      headers: headers({ ':status': '200', ...type, ...pairs }),
      endOfStream: false,
    });
    const told = (begin: StreamEvent, ...rest: readonly StreamEvent[]) => {
      const { send, session, conversations } = setUp();
      send(requestHeaders(), requestBody(BODY), begin, responsePart(answer), ...rest);
      session.closed('cancelled');
      return conversations.map(({ count }) => count);
    };
    expect(told(head({}), responseEnd('data: [DONE]\n\n'))).toEqual([2]);
    expect(told(head({}), RESPONSE_TRAILERS)).toEqual([2]);
    expect(told(head({}))).toEqual([]);
    expect(told(head({ 'content-encoding': 'gzip' }), responseEnd(''))).toEqual([]);
    expect(told(head({ ':status': '404' }), responseEnd(''))).toEqual([]);
    expect(told(head({ 'content-type': 'text/plain' }), responseEnd(''))).toEqual([]);
  });

  it('[P13][P14][P15] lets the response through byte for byte and takes the usage at its end', () => {
    const { send, actions, kinds, ended, firstTokens } = setUp();
    send(requestHeaders(), requestBody(BODY), responseHeaders());
    expect(kinds().at(-1)).toBe('answer-response-headers');
    const usage =
      'data: {"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}\n\n';
    send(responsePart('data: a\n\n'), responsePart(usage), responseEnd('data: [DONE]\n\n'));
    expect(textOf(actions, 'echo-response-body')).toBe(`data: a\n\n${usage}data: [DONE]\n\n`);
    expect(actions.at(-1)).toMatchObject({ endOfStream: true });
    expect(firstTokens()).toBeGreaterThan(0);
    expect(ended).toEqual([
      {
        outcome: 'completed',
        usage: { promptTokens: 7, completionTokens: 2, cachedTokens: 4, leavesOutZero: true },
      },
    ]);
  });

  it.each<[string, Record<string, string>, Usage | undefined]>([
    ['both', { input: '12', output: '340' }, usageOf(12, 340)],
    ['one', { output: ' 340 ' }, usageOf(0, 340)],
    ['none', {}, undefined],
    ['no numbers', { input: '-1', output: '1e3' }, undefined],
  ])(
    '[D543] takes the usage of a sound from headers, and nothing from its bytes: %s',
    (_, counts, usage) => {
      for (const type of ['audio/wav', 'application/octet-stream; x=y']) {
        const { send, ended } = setUp();
        const named = Object.entries(counts).map(([what, n]) => [`x-vllm-omni-${what}-tokens`, n]);
        send(requestHeaders(), requestBody(BODY), {
          ...PLAIN,
          kind: 'response-headers',
          headers: headers({
            ':status': '200',
            'content-type': type,
            ...Object.fromEntries(named),
          }),
          endOfStream: false,
        });
        send(responsePart('"usage":{"prompt_tokens":7,"completion_tokens":2}'), responseEnd(''));
        expect(ended).toEqual([{ outcome: 'completed', usage }]);
      }
    },
  );

  it.each([400, 404, 429, 500, 503])('[P15] sees no first token in an error: %i', (status) => {
    const { send, firstTokens, ended } = setUp();
    const error = responseEnd('{"error":{}}');
    send(requestHeaders(), requestBody(BODY), responseHeaders(status), error);
    expect([firstTokens(), ended.length]).toEqual([0, 1]);
  });

  it.each([
    [400, [8192]],
    [404, []],
    [200, []],
    [500, []],
  ])('[Q267] learns the context window from a request that is refused with %i', (status, known) => {
    const { send, windows } = setUp();
    const sentence = "This model's maximum context length is 8192 tokens. However, ";
    const error = responseEnd(`{"error":{"message":"${sentence}"}}`);
    send(requestHeaders(), requestBody(BODY), responseHeaders(status), error);
    expect(windows).toEqual(known);
  });

  it('[P15] sees no first token in the events of the Responses API that come before the engine begins', () => {
    const event = (type: string): string => `event: ${type}\ndata: {"type":"${type}"}\n\n`;
    const accepted = event('response.created') + event('response.in_progress');
    const { send, firstTokens } = setUp();
    send(requestHeaders(), requestBody(BODY), responseHeaders(200));
    send(responsePart(accepted), responsePart(event('response.in_progress')));
    expect(firstTokens()).toBe(0);
    send(responsePart(event('response.output_item.added')));
    expect(firstTokens()).toBe(1);
    const together = setUp();
    together.send(requestHeaders(), requestBody(BODY), responseHeaders(200));
    together.send(responsePart(accepted + event('response.output_text.delta')));
    expect(together.firstTokens()).toBe(1);
  });

  it('[P13] sets the headers that plugins mark a response with, and otherwise none', () => {
    const { send, actions, responseMarks } = setUp();
    responseMarks.set('x-session-token', 'cG9kLTA=');
    send(requestHeaders(), requestBody(BODY), responseHeaders());
    expect(actions.at(-1)).toEqual({
      kind: 'answer-response-headers',
      setHeaders: [['x-session-token', 'cG9kLTA=']],
    });
    const plain = setUp();
    plain.send(requestHeaders(), requestBody(BODY), responseHeaders());
    expect(plain.actions.at(-1)).toEqual({ kind: 'answer-response-headers', setHeaders: [] });
  });

  it('[P14] answers chunks it need not send back with an empty message', () => {
    const { send, kinds } = setUp();
    send(
      requestHeaders(mode(BODY_MODE.fullDuplex, BODY_MODE.streamed)),
      requestBody(BODY),
      responseHeaders(),
      responseEnd('a'),
    );
    expect(kinds().slice(-2)).toEqual(['answer-response-headers', 'answer-response-body']);
  });

  it('[P16] completes at the end of the stream where no response body comes', () => {
    for (const finish of ['trailers', 'close'] as const) {
      const { send, session, ended } = setUp();
      send(requestHeaders(EARLY), requestBody(BODY), responseHeaders());
      expect(ended).toEqual([]);
      if (finish === 'trailers') send(RESPONSE_TRAILERS);
      else session.closed('cancelled');
      expect(ended).toEqual([{ outcome: 'completed', usage: undefined }]);
    }
  });

  it('[P18] learns which endpoint really served', () => {
    const { send, served } = setUp();
    send(requestHeaders(), requestBody(BODY), {
      ...responseHeaders(),
      metadata: { subset: undefined, served: '10.0.0.2:8000' },
    });
    expect(served).toEqual(['10.0.0.2:8000']);
  });

  it('[P19] counts a 500 or more as a failure of the endpoint', () => {
    const { send, ended } = setUp();
    send(requestHeaders(), requestBody(BODY), responseHeaders(503, true));
    expect(ended).toMatchObject([{ outcome: 'failed' }]);
  });

  it.each([
    ['0', 'completed'],
    // A client can cause these: a wrong argument, too many requests, a call that it has cancelled,
    // its own deadline, a method that there is not.
    ['3', 'completed'],
    ['8', 'completed'],
    ['1', 'completed'],
    ['2', 'failed'],
    ['4', 'completed'],
    ['12', 'completed'],
    ['13', 'failed'],
    ['14', 'failed'],
  ])(
    '[D464] takes gRPC’s status %s, in trailers or in place of an answer, as %s',
    (status, outcome) => {
      const fields = { 'grpc-status': status };
      const inTrailers = setUp();
      inTrailers.send(requestHeaders(), requestBody(BODY), responseHeaders());
      inTrailers.send(responsePart('x'), responseTrailers(fields));
      const alone = setUp();
      alone.send(requestHeaders(), requestBody(BODY));
      const type = { 'content-type': 'application/grpc' };
      const block = headers({ ':status': '200', ...type, ...fields });
      alone.send({ ...PLAIN, kind: 'response-headers', headers: block, endOfStream: true });
      expect([inTrailers.ended, alone.ended]).toMatchObject([[{ outcome }], [{ outcome }]]);
    },
  );

  it('[P21] answers response messages that no request went before', () => {
    const { send, kinds } = setUp();
    send(responseHeaders(), responseEnd('x'), RESPONSE_TRAILERS);
    expect(kinds()).toEqual([
      'answer-response-headers',
      'echo-response-body',
      'answer-response-trailers',
    ]);
  });

  it('[P15] says whether a first token will be seen', () => {
    const seen = (protocol: object, halfCloseAfterPick = false): boolean | undefined => {
      const { send, routed } = setUp({ halfCloseAfterPick });
      send(requestHeaders(protocol as never), requestBody(BODY));
      return routed[0]?.options?.firstTokenVisible;
    };
    expect(seen({})).toBe(true);
    expect(seen(mode(BODY_MODE.fullDuplex, BODY_MODE.none))).toBe(false);
    expect(seen({}, true)).toBe(false);
    expect(seen(mode(BODY_MODE.buffered, BODY_MODE.streamed), true)).toBe(true);
  });
});

describe('what plugins report of an answer', () => {
  const metadata = [{ namespace: 'envoy.lb', name: 'cost', value: 3 }];
  const usage = {
    promptTokens: 1,
    completionTokens: 2,
    cachedTokens: undefined,
    leavesOutZero: true,
  };
  const text = '{"usage":{"prompt_tokens":1,"completion_tokens":2}}';

  const POST = [requestHeaders(), requestBody(BODY)];

  function setUpReporting(values: readonly ReportedValue[]) {
    const reported: unknown[] = [];
    const report = (seen: Usage | undefined): readonly ReportedValue[] => {
      reported.push(seen);
      return values;
    };
    return { ...setUp({}, undefined, undefined, report), reported };
  }

  it('[D61] goes with the last message of the body, and the usage is read once', () => {
    const { send, actions, ended, reported } = setUpReporting(metadata);
    send(...POST, responseHeaders());
    send(responsePart(text.slice(0, 20)), responseEnd(text.slice(20)));
    const bodies = actions.filter(({ kind }) => kind === 'echo-response-body');
    expect(bodies.map((each) => ('metadata' in each ? each.metadata : undefined))).toEqual([
      undefined,
      metadata,
    ]);
    expect(reported).toEqual([usage]);
    expect(ended).toEqual([{ outcome: 'completed', usage }]);
  });

  it('[D61] goes with the trailers where there are any', () => {
    const { send, actions, ended } = setUpReporting(metadata);
    send(...POST, responseHeaders());
    send(responsePart(text), RESPONSE_TRAILERS);
    expect(actions.at(-1)).toEqual({ kind: 'answer-response-trailers', metadata });
    expect(ended).toEqual([{ outcome: 'completed', usage }]);
  });

  it('[D61] is left out where it is nothing', () => {
    const { send, actions } = setUpReporting([]);
    send(...POST, responseHeaders(), responseEnd(text));
    expect(actions.at(-1)).not.toHaveProperty('metadata', expect.anything());
  });
});
