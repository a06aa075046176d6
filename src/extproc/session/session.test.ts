import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';
import type { Outcome, Usage } from '../../framework/observer.ts';
import type { ReportedValue } from '../../framework/plugin.ts';
import type { InferenceRequest, PromptBlocks } from '../../framework/request.ts';
import type { LocalResponse, RequestLine } from '../../framework/request-control.ts';
import type { RoutedRequest, RouteOptions, Router } from '../../framework/routing.ts';
import { createOpenBody, headerOnlyRequest } from '../../openai/parsers/open-body.ts';
import { HeaderBlock } from '../codec/header-block.ts';
import type { StreamAction } from '../codec/stream-action.ts';
import { BODY_MODE, type CloseReason, type StreamEvent } from '../codec/stream-event.ts';
import { BLOCK_BYTES, BlockPool } from '../streams/block-pool.ts';
import { Session, type SessionOptions } from './session.ts';

const BODY = '{"model":"m","messages":[{"role":"user","content":"hello"}]}';

/** A HeaderMap message, as Envoy encodes it. All lengths here are below 128. */
function headers(pairs: Readonly<Record<string, string>>): HeaderBlock {
  const field = (number: number, content: Buffer): Buffer =>
    Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content]);
  const encoded = Object.entries(pairs).map(([name, value]) =>
    field(1, Buffer.concat([field(1, Buffer.from(name)), field(3, Buffer.from(value))])),
  );
  return new HeaderBlock(Buffer.concat(encoded));
}

const REQUEST = { ':method': 'POST', ':path': '/v1/chat/completions', 'x-request-id': 'theirs' };

interface Ended {
  readonly outcome: Outcome;
  readonly usage: Usage | undefined;
}

/** What most events do not carry. */
const PLAIN = { metadata: undefined, observing: false, protocol: undefined, wireBytes: 0 } as const;
const REQUEST_TRAILERS: StreamEvent = { ...PLAIN, kind: 'request-trailers' };
const RESPONSE_TRAILERS: StreamEvent = { ...PLAIN, kind: 'response-trailers' };

const SCORED = [{ endpoint: { address: '10.0.0.1:8000' } as Endpoint, score: 0.5 }];

/** A router that remembers everything and a session on it. */
function setUp(
  overrides: Partial<SessionOptions> = {},
  destinations: readonly string[] = ['10.0.0.1:8000'],
  prepare?: NonNullable<Router['prepare']>,
  responseMetadata?: RoutedRequest['responseMetadata'],
) {
  const actions: StreamAction[] = [];
  const responseMarks = new Map<string, string>();
  const ended: Ended[] = [];
  const served: string[] = [];
  const read: InferenceRequest[] = [];
  const routed: { request: InferenceRequest; options: RouteOptions | undefined }[] = [];
  const conversations: PromptBlocks[] = [];
  const faults: unknown[] = [];
  const rejected: string[] = [];
  let firstTokens = 0;
  let heldBytes = 0;
  const blocks = new BlockPool();
  const route = (request: InferenceRequest, options?: RouteOptions): RoutedRequest => {
    if (options?.subset?.length === 0) throw new RoutingError('no-endpoints', 'none of 3');
    routed.push({ request, options });
    let open = true;
    return {
      request,
      endpoint: {} as Endpoint,
      destinations,
      scored: SCORED,
      headers: new Map(),
      responseHeaders: () => responseMarks,
      firstToken: () => {
        firstTokens += 1;
      },
      served: (address) => void served.push(address),
      bodyRead: (complete) => void read.push(complete),
      wantsAnswer: true,
      responseMetadata,
      answered: (conversation) => void conversations.push(conversation),
      done: (outcome, usage) => {
        if (open) ended.push({ outcome, usage });
        open = false;
      },
    };
  };
  const session = new Session(
    {
      router: { route, ...(prepare && { prepare }) },
      openBody: createOpenBody({ bodyBytesMax: 10_000_000, hashSeed: 1 }),
      headerOnly: headerOnlyRequest,
      newRequestId: () => 'ours-1',
      earlyPickBytes: 1000,
      halfCloseAfterPick: false,
      onFault: (error) => void faults.push(error),
      onRejected: ({ code }) => void rejected.push(code),
      ...overrides,
    },
    (action) => void actions.push(action),
    {
      blocks,
      hold: (bytes) => {
        heldBytes += bytes;
      },
      release: (bytes) => {
        heldBytes -= bytes;
      },
    },
  );
  return {
    blocks,
    heldBytes: () => heldBytes,
    responseMarks,
    session,
    actions,
    ended,
    served,
    read,
    conversations,
    routed,
    faults,
    rejected,
    firstTokens: () => firstTokens,
    kinds: () => actions.map(({ kind }) => kind),
    send: (...events: readonly StreamEvent[]) => {
      for (const event of events) session.on(event);
    },
  };
}

function requestHeaders(
  extra: Partial<StreamEvent> & { readonly pairs?: Record<string, string> } = {},
): StreamEvent {
  const { pairs = {}, ...rest } = extra;
  return {
    ...PLAIN,
    kind: 'request-headers',
    headers: headers({ ...REQUEST, ...pairs }),
    endOfStream: false,
    ...rest,
  } as StreamEvent;
}

const requestBody = (text: string, endOfStream = true): StreamEvent => ({
  ...PLAIN,
  kind: 'request-body',
  chunk: Buffer.from(text),
  endOfStream,
});
const responseHeaders = (status = 200, endOfStream = false): StreamEvent => ({
  ...PLAIN,
  kind: 'response-headers',
  headers: headers({ ':status': String(status) }),
  endOfStream,
});
const responseBody = (text: string, endOfStream = false): StreamEvent => ({
  ...PLAIN,
  kind: 'response-body',
  chunk: Buffer.from(text),
  endOfStream,
});

function mode(
  requestBodyMode: number,
  responseBodyMode: number = BODY_MODE.fullDuplex,
  sendsBodyWithoutWaiting = false,
) {
  return { protocol: { requestBodyMode, responseBodyMode, sendsBodyWithoutWaiting } };
}
const EARLY = mode(BODY_MODE.streamed, BODY_MODE.none, true);

function textOf(
  actions: readonly StreamAction[],
  kind: 'echo-request-body' | 'echo-response-body',
): string {
  return actions
    .flatMap((action) => (action.kind === kind ? action.pieces : []))
    .map((piece) => Buffer.from(piece).toString())
    .join('');
}

describe('a session', () => {
  it('[P1] withholds everything until the body has ended, then answers and echoes it in pieces', () => {
    const { send, kinds, actions } = setUp();
    const long = `{"model":"m","messages":[{"role":"user","content":"${'x'.repeat(150_000)}"}]}`;
    send(requestHeaders(), requestBody(long.slice(0, 70_000), false));
    expect(kinds()).toEqual([]);
    send(requestBody(long.slice(70_000)));
    expect(kinds()).toEqual([
      'answer-request-headers',
      'echo-request-body',
      'echo-request-body',
      'echo-request-body',
    ]);
    expect(textOf(actions, 'echo-request-body')).toBe(long);
    const ends = actions.map((action) => 'endOfStream' in action && action.endOfStream);
    expect(ends).toEqual([false, false, false, true]);
    for (const action of actions) {
      if (action.kind !== 'echo-request-body') continue;
      expect(action.pieces.reduce((sum, piece) => sum + piece.length, 0)).toBeLessThanOrEqual(
        62_000,
      );
    }
  });

  it('[P2] names the primary and the fallbacks', () => {
    const { send, actions } = setUp({}, ['10.0.0.1:8000', '[fd00::2]:8000']);
    send(requestHeaders(), requestBody(BODY));
    expect(actions[0]).toMatchObject({
      pick: {
        destination: '10.0.0.1:8000,[fd00::2]:8000',
        setHeaders: [['content-length', String(BODY.length)]],
      },
    });
  });

  it('[P3] completes a request whose body ends with trailers', () => {
    const { send, kinds, actions } = setUp();
    send(requestHeaders(), requestBody(BODY, false), REQUEST_TRAILERS);
    expect(kinds()).toEqual([
      'answer-request-headers',
      'echo-request-body',
      'answer-request-trailers',
    ]);
    expect(actions[0]).toMatchObject({ pick: { setHeaders: [] } });
    expect(actions[1]).toMatchObject({ endOfStream: false });
  });

  it('[P4] routes a request without a body at once, and refuses an empty one where a body is needed', () => {
    const get = setUp();
    get.send(requestHeaders({ endOfStream: true, pairs: { ':method': 'GET' } } as never));
    expect(get.kinds()).toEqual(['answer-request-headers']);
    const post = setUp();
    post.send(requestHeaders({ endOfStream: true } as never));
    expect(post.actions).toMatchObject([{ kind: 'reject', status: 400 }]);
  });

  it.each([BODY_MODE.buffered, BODY_MODE.bufferedPartial])(
    '[P5] picks at the one body message of mode %d',
    (bodyMode) => {
      const { send, actions } = setUp();
      send(requestHeaders(mode(bodyMode)));
      expect(actions).toEqual([{ kind: 'answer-request-headers', pick: undefined }]);
      send(requestBody(BODY, false), REQUEST_TRAILERS);
      expect(actions.slice(1)).toMatchObject([
        { kind: 'answer-request-body', pick: { destination: '10.0.0.1:8000' } },
        { kind: 'answer-request-trailers' },
      ]);
    },
  );

  it('[P6] picks early at the byte bound, with the size the client announced, and then answers every chunk', () => {
    const { send, kinds, routed } = setUp();
    const body = `{"model":"m","messages":[{"role":"user","content":"${'x'.repeat(40_000)}"}]}`;
    const pairs = { 'content-length': String(body.length) };
    send(requestHeaders({ ...EARLY, pairs } as never), requestBody(body.slice(0, 500), false));
    expect(kinds()).toEqual([]);
    send(requestBody(body.slice(500, 1500), false));
    expect(kinds()).toEqual([
      'answer-request-headers',
      'answer-request-body',
      'answer-request-body',
    ]);
    expect(routed[0]?.request.promptTokens).toBeGreaterThan(9000);
    send(requestBody(body.slice(1500)));
    expect(kinds()).toHaveLength(4);
  });

  it.each([
    ['in full duplex', mode(BODY_MODE.fullDuplex)],
    ['in one message', mode(BODY_MODE.buffered)],
    ['that streams past', EARLY],
  ])(
    '[V232] refuses a body %s that ends before or after its announced length, with 503 and nothing reserved',
    (_name, protocol) => {
      for (const off of [-1, 1, 70_000]) {
        const { send, actions, routed, ended } = setUp();
        const pairs = { 'content-length': String(BODY.length + off) };
        send(
          requestHeaders({ ...protocol, pairs } as never),
          requestBody(BODY.slice(0, 20), false),
        );
        send(requestBody(BODY.slice(20)));
        const refused = actions.at(-1);
        expect(refused).toMatchObject({ kind: 'reject', status: 503 });
        expect(refused).toHaveProperty('body', expect.stringContaining('body-incomplete'));
        // What streams past may have been picked for; its reservation is back.
        expect(ended).toHaveLength(routed.length);
      }
      const { send, routed } = setUp();
      const pairs = { 'content-length': String(BODY.length) };
      send(requestHeaders({ ...protocol, pairs } as never), requestBody(BODY));
      expect(routed).toHaveLength(1);
    },
  );

  it('[P6] does not wait for the end of a body that is complete', () => {
    const { send, kinds } = setUp();
    send(requestHeaders(EARLY), requestBody(BODY, false));
    expect(kinds()).toEqual(['answer-request-headers', 'answer-request-body']);
    send(REQUEST_TRAILERS);
    expect(kinds().at(-1)).toBe('answer-request-trailers');
  });

  it('[P7] reads on after an early pick, tells the whole request, and still refuses what turns out bad', () => {
    const body = `{"model":"m","messages":[{"role":"user","content":"${'x'.repeat(4000)}"}]}`;
    const good = setUp();
    good.send(
      requestHeaders(EARLY),
      requestBody(body.slice(0, 2000), false),
      requestBody(body.slice(2000)),
    );
    expect(good.read).toHaveLength(1);
    expect(good.read[0]?.prompt.count).toBeGreaterThan(good.routed[0]?.request.prompt.count ?? 0);
    const bad = setUp();
    bad.send(requestHeaders(EARLY), requestBody(body.slice(0, 2000), false), requestBody('\u0001'));
    expect(bad.actions.at(-1)).toMatchObject({ kind: 'reject', status: 400 });
    expect(bad.ended).toEqual([{ outcome: 'aborted', usage: undefined }]);
  });

  it.each([mode(BODY_MODE.none), mode(BODY_MODE.streamed)])(
    '[P8] picks at the headers when no body comes before the answer',
    (protocol) => {
      const { send, kinds } = setUp();
      send(requestHeaders(protocol), requestBody(BODY));
      expect(kinds()).toEqual(['answer-request-headers', 'answer-request-body']);
    },
  );

  it('[P9] takes the latest subset, and answers 503 to an empty one', () => {
    const { send, routed } = setUp();
    const metadata = (subset: readonly string[]) => ({ metadata: { subset, served: undefined } });
    send(requestHeaders(metadata(['a'])), { ...requestBody(BODY), ...metadata(['b', 'c']) });
    expect(routed[0]?.options?.subset).toEqual(['b', 'c']);
    const none = setUp();
    none.send(requestHeaders(metadata([])), requestBody(BODY));
    expect(none.actions).toMatchObject([{ kind: 'reject', status: 503 }]);
  });

  it('[D96] ignores every subset where it is configured so', () => {
    const { send, routed } = setUp({ ignoreSubset: true });
    const metadata = { metadata: { subset: ['b'], served: undefined } };
    send(requestHeaders(metadata), { ...requestBody(BODY), ...metadata });
    expect(routed[0]?.options?.subset).toBeUndefined();
  });

  it('[P10] refuses in OpenAI’s shape, with a reason and a time to wait, and then says nothing more', () => {
    const { send, actions, rejected } = setUp();
    send(
      requestHeaders({ metadata: { subset: [], served: undefined } }),
      requestBody(BODY),
      requestBody(BODY),
      responseHeaders(),
    );
    expect(actions).toHaveLength(1);
    const [reject] = actions;
    if (reject?.kind !== 'reject') throw new Error('not a rejection');
    expect(Object.fromEntries(reject.headers)).toEqual({
      'content-type': 'application/json',
      'x-llm-d-request-dropped-reason': 'rejected-no-endpoints',
      'retry-after': '1',
    });
    const error = { message: 'none of 3', type: 'server_error', param: null, code: 503 };
    expect(JSON.parse(reject.body)).toEqual({ error: { ...error, reason: 'no-endpoints' } });
    expect(rejected).toEqual(['no-endpoints']);
  });

  it('[D40] tells the proxy what the endpoint was chosen from, where that is asked for', () => {
    const picks = [true, false, undefined].map((emitEndpointScores) => {
      const { send, actions } = setUp({ emitEndpointScores });
      send(requestHeaders(), requestBody(BODY));
      const [first] = actions;
      return first?.kind === 'answer-request-headers' ? first.pick?.scores : 'none';
    });
    expect(picks).toEqual([SCORED, undefined, undefined]);
  });

  it('[D30] refuses a gRPC request with a gRPC status', () => {
    const { send, actions } = setUp();
    const sent = headers({ ...REQUEST, ':path': '/x.Y/Z', 'content-type': 'application/grpc' });
    const metadata = { subset: [], served: undefined };
    send(requestHeaders({ headers: sent, metadata }), requestBody('', true));
    expect(actions).toMatchObject([{ kind: 'reject', status: 200, grpcStatus: 14, body: '' }]);
  });

  it('[P11] answers an error of ours with 500 and reports it', () => {
    const broken = new Error('broken');
    const { send, actions, faults } = setUp({
      router: {
        route: () => {
          throw broken;
        },
      },
    });
    send(requestHeaders(), requestBody(BODY));
    expect(actions).toMatchObject([{ kind: 'reject', status: 500 }]);
    expect(faults).toEqual([broken]);
  });

  it('[P12] removes the control headers a client sent, and only those', () => {
    const { send, actions } = setUp();
    send(
      requestHeaders({ pairs: { 'x-prefiller-host-port': 'h:1', 'x-mine': '1' } } as never),
      requestBody(BODY),
    );
    expect(actions[0]).toMatchObject({ pick: { removeHeaders: ['x-prefiller-host-port'] } });
  });

  it('[P35] tells the conversation once, before the end, of a success and not of what is cut off', () => {
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
      send(requestHeaders(), requestBody(BODY), begin, responseBody(answer), ...rest);
      session.closed('cancelled');
      return conversations.map(({ count }) => count);
    };
    expect(told(head({}), responseBody('data: [DONE]\n\n', true))).toEqual([2]);
    expect(told(head({}), RESPONSE_TRAILERS)).toEqual([2]);
    expect(told(head({}))).toEqual([]);
    expect(told(head({ 'content-encoding': 'gzip' }), responseBody('', true))).toEqual([]);
    expect(told(head({ ':status': '404' }), responseBody('', true))).toEqual([]);
    expect(told(head({ 'content-type': 'text/plain' }), responseBody('', true))).toEqual([]);
  });

  it('[P13][P14][P15] lets the response through byte for byte and takes the usage at its end', () => {
    const { send, actions, kinds, ended, firstTokens } = setUp();
    send(requestHeaders(), requestBody(BODY), responseHeaders());
    expect(kinds().at(-1)).toBe('answer-response-headers');
    const usage =
      'data: {"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}\n\n';
    send(responseBody('data: a\n\n'), responseBody(usage), responseBody('data: [DONE]\n\n', true));
    expect(textOf(actions, 'echo-response-body')).toBe(`data: a\n\n${usage}data: [DONE]\n\n`);
    expect(actions.at(-1)).toMatchObject({ endOfStream: true });
    expect(firstTokens()).toBeGreaterThan(0);
    expect(ended).toEqual([
      { outcome: 'completed', usage: { promptTokens: 7, completionTokens: 2, cachedTokens: 4 } },
    ]);
  });

  it.each([400, 404, 429, 500, 503])('[P15] sees no first token in an error: %i', (status) => {
    const { send, firstTokens, ended } = setUp();
    const error = responseBody('{"error":{}}', true);
    send(requestHeaders(), requestBody(BODY), responseHeaders(status), error);
    expect([firstTokens(), ended.length]).toEqual([0, 1]);
  });

  it('[P15] sees no first token in the events of the Responses API that come before the engine begins', () => {
    const event = (type: string): string => `event: ${type}\ndata: {"type":"${type}"}\n\n`;
    const accepted = event('response.created') + event('response.in_progress');
    const { send, firstTokens } = setUp();
    send(requestHeaders(), requestBody(BODY), responseHeaders(200));
    send(responseBody(accepted, false), responseBody(event('response.in_progress'), false));
    expect(firstTokens()).toBe(0);
    send(responseBody(event('response.output_item.added'), false));
    expect(firstTokens()).toBe(1);
    const together = setUp();
    together.send(requestHeaders(), requestBody(BODY), responseHeaders(200));
    together.send(responseBody(accepted + event('response.output_text.delta'), false));
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
      responseBody('a', true),
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

  it.each([
    ['ended', 'aborted'],
    ['cancelled', 'aborted'],
    ['failed', 'failed'],
  ] as const)(
    '[P17] gives the reservation back when the stream is %s before a response',
    (reason, outcome) => {
      const { send, session, ended } = setUp();
      send(requestHeaders(), requestBody(BODY));
      session.closed(reason);
      session.closed('ended');
      expect(ended).toEqual([{ outcome, usage: undefined }]);
    },
  );

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

  it('[P20] never answers an observer', () => {
    const { send, actions } = setUp();
    send(requestHeaders({ observing: true }), requestBody(BODY), responseHeaders());
    expect(actions).toEqual([]);
  });

  const chat = (model: string, pad = ''): string =>
    `{"z":"${pad}", "model" : "${model}","messages":[{"role":"user","content":"hi"}]}`;
  const served = (requested: string): SessionOptions['openBody'] =>
    createOpenBody({
      bodyBytesMax: 10_000_000,
      hashSeed: 1,
      rewriteOf: (model) => (model === requested ? { rule: 'r', model: 'served-7b' } : undefined),
    });
  const lengths = { 'content-length': String(chat('chat').length), 'accept-encoding': 'gzip' };

  it('[P32] sends the body on under another model’s name, each chunk as it was otherwise', () => {
    const whole = setUp({ openBody: served('chat') });
    whole.send(
      requestHeaders({ pairs: lengths } as never),
      requestBody(chat('chat').slice(0, 20), false),
      requestBody(chat('chat').slice(20)),
    );
    expect(textOf(whole.actions, 'echo-request-body')).toBe(chat('served-7b'));
    expect(whole.actions[0]).toMatchObject({
      pick: {
        setHeaders: [['content-length', String(chat('served-7b').length)]],
        removeHeaders: ['accept-encoding'],
      },
    });
    expect(whole.routed[0]?.request).toMatchObject({
      model: 'served-7b',
      rewrite: { requestedModel: 'chat', rule: 'r' },
    });
  });

  it.each([
    ['BUFFERED', mode(BODY_MODE.buffered)],
    ['STREAMED', EARLY],
  ])('[P32] does so in mode %s', (_name, protocol) => {
    const { send, actions } = setUp({ openBody: served('chat') });
    send(requestHeaders({ ...protocol, pairs: lengths } as never), requestBody(chat('chat')));
    const bodies = actions.flatMap((action) =>
      action.kind === 'answer-request-body' ? [Buffer.concat(action.body ?? []).toString()] : [],
    );
    expect(bodies).toEqual([chat('served-7b')]);
    const picks = actions.flatMap((action) =>
      'pick' in action && action.pick !== undefined ? [action.pick] : [],
    );
    expect(picks).toMatchObject([
      { setHeaders: [['content-length', String(chat('served-7b').length)]] },
    ]);
  });

  it('[P32] leaves a request for another model as it is', () => {
    const { send, actions } = setUp({ openBody: served('other') });
    send(requestHeaders({ pairs: lengths } as never), requestBody(chat('chat')));
    expect(textOf(actions, 'echo-request-body')).toBe(chat('chat'));
    expect(actions[0]).toMatchObject({ pick: { removeHeaders: [] } });
  });

  it('[P33] answers under the name that was asked for, also when it is cut, and holds back nothing else', () => {
    const { send, actions, ended } = setUp({ openBody: served('chat') });
    send(requestHeaders(), requestBody(chat('chat')), responseHeaders());
    expect(actions.at(-1)).toMatchObject({ removeHeaders: ['content-length'] });
    send(responseBody('{"id":1,"model":"serv'));
    expect(textOf(actions, 'echo-response-body')).toBe('{"id":1,"model":');
    send(responseBody('ed-7b","text":"served-7b"'));
    expect(textOf(actions, 'echo-response-body')).toBe('{"id":1,"model":"chat","text":"served-7b"');
    send(responseBody('}', true));
    expect(textOf(actions, 'echo-response-body')).toBe(
      '{"id":1,"model":"chat","text":"served-7b"}',
    );
    expect(actions.at(-1)).toMatchObject({ endOfStream: true });
    expect(ended).toHaveLength(1);
  });

  it('[P33] gives back what it held when trailers come instead of the rest', () => {
    const { send, actions } = setUp({ openBody: served('chat') });
    send(requestHeaders(), requestBody(chat('chat')), responseHeaders());
    send(responseBody('{"model":"serv'), RESPONSE_TRAILERS);
    expect(textOf(actions, 'echo-response-body')).toBe('{"model":"serv');
  });

  it('[P33] replaces chunks that it need not send back', () => {
    const { send, actions } = setUp({ openBody: served('chat') });
    send(
      requestHeaders(mode(BODY_MODE.fullDuplex, BODY_MODE.streamed)),
      requestBody(chat('chat')),
      responseHeaders(),
      responseBody('{"model":"serv'),
      responseBody('ed-7b"}', true),
    );
    const bodies = actions.flatMap((action) =>
      action.kind === 'answer-response-body' ? [Buffer.concat(action.body ?? []).toString()] : [],
    );
    expect(bodies).toEqual(['{"model":', '"chat"}']);
  });

  it('[P33] sees the end of a renamed answer even where the response side is given up', () => {
    const options = { openBody: served('chat'), halfCloseAfterPick: true };
    const renamed = setUp(options);
    renamed.send(requestHeaders(), requestBody(chat('chat')));
    expect(renamed.kinds()).not.toContain('half-close');
    const plain = setUp(options);
    plain.send(requestHeaders(), requestBody(chat('other')));
    expect(plain.kinds().at(-1)).toBe('half-close');
  });

  it('[P34] refuses a name that comes after the pick and should have been another', () => {
    const late = chat('chat', 'x'.repeat(2000));
    for (const [requested, refused] of [
      ['chat', true],
      ['other', false],
    ] as const) {
      const { send, kinds, actions } = setUp({ openBody: served(requested) });
      send(requestHeaders(EARLY), requestBody(late.slice(0, 1500), false));
      expect(kinds()).toEqual(['answer-request-headers', 'answer-request-body']);
      send(requestBody(late.slice(1500)));
      const rejection = { kind: 'reject', status: 400 };
      if (refused) expect(actions.at(-1)).toMatchObject(rejection);
      else expect(actions.at(-1)).not.toMatchObject(rejection);
    }
  });

  it('[V57] takes transfer parameters out of a body, or refuses one where they came too late', () => {
    const openBody = createOpenBody({
      bodyBytesMax: 10_000,
      hashSeed: 1,
      onIgnored: () => undefined,
    });
    const start = `{"model":"m","messages":[{"content":"${'x'.repeat(2000)}"}]`;
    const duplex = setUp({ openBody });
    const end = ',"ec_transfer_params":[{"a":"}"}, 1] , "n":1}';
    duplex.send(requestHeaders(), requestBody(start, false), requestBody(end));
    const sent = duplex.actions.flatMap((action) =>
      action.kind === 'echo-request-body' ? [Buffer.concat(action.pieces).toString()] : [],
    );
    expect(sent.join('')).toBe(`${start},"ec_transfer_params":null , "n":1}`);
    const early = setUp({ openBody });
    early.send(requestHeaders(EARLY), requestBody(start, false), requestBody(end));
    expect(early.actions.at(-1)).toMatchObject({ kind: 'reject', status: 400 });
    expect(JSON.stringify(early.actions.at(-1))).toContain('ec_transfer_params');
  });

  it('[P34] refuses a name that is seen only after its headers have left', () => {
    for (const [requested, kind] of [
      ['chat', 'reject'],
      ['other', 'answer-request-body'],
    ] as const) {
      const { send, kinds } = setUp({ openBody: served(requested) });
      send(requestHeaders(mode(BODY_MODE.streamed)), requestBody(chat('chat')));
      expect(kinds()).toEqual(['answer-request-headers', kind]);
    }
  });

  it('[P21] answers response messages that no request went before', () => {
    const { send, kinds } = setUp();
    send(responseHeaders(), responseBody('x', true), RESPONSE_TRAILERS);
    expect(kinds()).toEqual([
      'answer-response-headers',
      'echo-response-body',
      'answer-response-trailers',
    ]);
  });

  it('[P22] half-closes after the request when asked to, and takes the end of the stream for the end', () => {
    const { send, session, kinds, ended } = setUp({ halfCloseAfterPick: true });
    send(requestHeaders(), requestBody(BODY));
    expect(kinds().at(-1)).toBe('half-close');
    session.closed('ended');
    expect(ended).toEqual([{ outcome: 'completed', usage: undefined }]);
  });

  it('[P23] gives a request an id when it has none', () => {
    const { send, actions } = setUp();
    send(requestHeaders({ pairs: { 'x-request-id': '' } } as never), requestBody(BODY));
    expect(actions[0]).toMatchObject({
      pick: { setHeaders: expect.arrayContaining([['x-request-id', 'ours-1']]) },
    });
  });

  it('[P21] keeps to the mode of the first message', () => {
    const { send, session, routed, ended } = setUp();
    send(requestHeaders(), requestBody('x'.repeat(10), false));
    expect(routed).toHaveLength(0);
    const { send: go, session: whole, routed: picks, ended: ends } = setUp();
    go(
      requestHeaders(),
      requestBody(BODY.slice(0, 5), false),
      requestHeaders(EARLY),
      requestBody(BODY.slice(5)),
    );
    whole.closed('cancelled');
    session.closed('cancelled');
    expect([picks.length, ends.length, ended.length]).toEqual([1, 1, 0]);
  });

  it('[P17][P21][V13] survives any events in any order and never keeps a reservation, or a byte of the body', () => {
    const event: fc.Arbitrary<StreamEvent> = fc.oneof(
      fc
        .constantFrom(BODY, '{', '', 'x'.repeat(2000))
        .chain((text) => fc.boolean().map((end) => requestBody(text, end))),
      fc.constantFrom<StreamEvent>(
        requestHeaders(),
        requestHeaders(EARLY),
        requestHeaders(mode(BODY_MODE.buffered)),
        requestHeaders({ endOfStream: true } as never),
        REQUEST_TRAILERS,
        responseHeaders(),
        responseHeaders(500, true),
        responseBody('a'),
        responseBody('', true),
        RESPONSE_TRAILERS,
        { ...PLAIN, kind: 'unknown' },
      ),
    );
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 20 }),
        fc.constantFrom<CloseReason>('ended', 'cancelled', 'failed'),
        (events, reason) => {
          const { send, session, routed, ended, faults, heldBytes } = setUp();
          send(...events);
          expect(heldBytes()).toBeGreaterThanOrEqual(0);
          session.closed(reason);
          expect(heldBytes()).toBe(0);
          expect(ended).toHaveLength(routed.length);
          expect(faults).toEqual([]);
        },
      ),
      { numRuns: 10_000 },
    );
  });

  it('[V13] counts what it keeps of a body until the answers do, and refuses with what it has', () => {
    const { send, session, heldBytes, actions, routed, blocks } = setUp();
    send(requestHeaders(), requestBody(BODY.slice(0, 20), false));
    expect([session.phase, heldBytes()]).toEqual(['uploading', 512 + 20 + 2]);
    send(requestBody(BODY.slice(20, 30), false));
    const blockCost = BLOCK_BYTES + 512 + BLOCK_BYTES / 16;
    expect([heldBytes(), blocks.taken]).toEqual([512 + 20 + 2 + blockCost, 1]);
    expect(session.refuse(new RoutingError('memory-full', 'too much'))).toBe(true);
    expect([session.phase, heldBytes(), routed, blocks.taken]).toEqual(['refused', 0, [], 0]);
    expect(actions).toMatchObject([{ kind: 'reject', status: 429 }]);
    const other = setUp();
    other.send(requestHeaders(), requestBody(BODY));
    expect([other.session.phase, other.heldBytes()]).toEqual(['picked', 0]);
    const gathered = setUp();
    gathered.send(requestHeaders(mode(BODY_MODE.buffered)));
    expect(gathered.session.phase).toBe('gathering');
  });

  it('[P24] picks by the part of a body that fitted the proxy’s buffer', () => {
    const { send, actions } = setUp();
    send(requestHeaders(mode(BODY_MODE.bufferedPartial)), requestBody(BODY.slice(0, 20), false));
    expect(actions.at(-1)).toMatchObject({ pick: { destination: '10.0.0.1:8000' } });
    const whole = setUp();
    whole.send(requestHeaders(mode(BODY_MODE.bufferedPartial)), requestBody(BODY.slice(0, 20)));
    expect(whole.actions.at(-1)).toMatchObject({ kind: 'reject', status: 400 });
  });

  it('[P25] sends an empty body back as one empty piece, and none where only trailers came', () => {
    const opaque = { pairs: { ':path': '/anything', 'content-type': 'text/plain' } } as never;
    const empty = setUp();
    empty.send(requestHeaders(opaque), requestBody(''));
    expect(empty.actions.slice(1)).toEqual([
      { kind: 'echo-request-body', pieces: [], endOfStream: true },
    ]);
    const trailers = setUp();
    trailers.send(requestHeaders(opaque), REQUEST_TRAILERS);
    expect(trailers.kinds()).toEqual(['answer-request-headers', 'answer-request-trailers']);
  });

  describe('a body that is not read', () => {
    const unread = { ':path': '/v1/files', 'content-type': 'application/octet-stream' };
    const begin = (extra: object = {}, pairs: object = {}): StreamEvent =>
      requestHeaders({ pairs: { ...unread, ...pairs }, ...extra } as never);

    it('[D33] is picked for at its headers, by the size that is announced', () => {
      const { send, kinds, routed } = setUp();
      send(begin({}, { 'content-length': '4000' }));
      expect(kinds()).toEqual(['answer-request-headers']);
      expect(routed).toMatchObject([{ request: { promptTokens: 1000, bodyBytes: 4000 } }]);
    });

    it('[D33] passes chunk by chunk, of any content and size', () => {
      const { send, actions, session } = setUp({
        openBody: createOpenBody({ bodyBytesMax: 10, hashSeed: 1 }),
      });
      send(begin({}, { 'content-length': '24' }), requestBody('{"not json: ', false));
      expect(actions.slice(1)).toMatchObject([{ kind: 'echo-request-body', endOfStream: false }]);
      send(requestBody('{"not json: '));
      expect(actions.slice(2)).toMatchObject([{ kind: 'echo-request-body', endOfStream: true }]);
      expect(session.phase).toBe('picked');
    });

    it('[D33] tells its size at its end, where it was not the announced one', () => {
      const known = setUp();
      known.send(begin({}, { 'content-length': '3' }), requestBody('abc'));
      expect(known.read).toEqual([]);
      const chunked = setUp();
      chunked.send(begin(), requestBody('abcd', false), requestBody('efgh'));
      expect(chunked.read).toMatchObject([{ promptTokens: 2, bodyBytes: 8 }]);
      const byTrailers = setUp();
      byTrailers.send(begin(), requestBody('abcd', false), REQUEST_TRAILERS);
      expect(byTrailers.read).toMatchObject([{ bodyBytes: 4 }]);
      expect(byTrailers.kinds().at(-1)).toBe('answer-request-trailers');
    });

    it.each([BODY_MODE.buffered, BODY_MODE.bufferedPartial, BODY_MODE.streamed])(
      '[D33] is picked for at its headers in body mode %i, too',
      (requestBodyMode) => {
        const { send, actions } = setUp();
        send(begin(mode(requestBodyMode)), requestBody('abc'));
        expect(actions).toMatchObject([
          { kind: 'answer-request-headers', pick: { destination: '10.0.0.1:8000' } },
          { kind: 'answer-request-body', pick: undefined },
        ]);
      },
    );

    it('[D33] half-closes after its last piece, where that is asked for', () => {
      const { send, kinds } = setUp({ halfCloseAfterPick: true });
      send(begin(), requestBody('abc', false), requestBody('d'));
      expect(kinds().slice(1)).toEqual(['echo-request-body', 'echo-request-body', 'half-close']);
    });
  });

  it('[P27] refuses a body by the size that is announced', () => {
    const { send, actions } = setUp();
    send(requestHeaders({ pairs: { 'content-length': '10000001' } } as never));
    expect(actions).toMatchObject([{ kind: 'reject', status: 413 }]);
  });

  it('[P8] reads the body that comes after the answer, and tells the whole request', () => {
    const { send, read } = setUp();
    send(requestHeaders(mode(BODY_MODE.streamed)), requestBody(BODY));
    expect(read).toMatchObject([{ model: 'm' }]);
  });

  it('[P15] says whether a first token will be seen', () => {
    const seen = (protocol: object, halfCloseAfterPick = false): boolean | undefined => {
      const { send, routed } = setUp({ halfCloseAfterPick });
      send(requestHeaders(protocol as never), requestBody(BODY));
      return routed[0]?.options?.firstTokenSeen;
    };
    expect(seen({})).toBe(true);
    expect(seen(mode(BODY_MODE.fullDuplex, BODY_MODE.none))).toBe(false);
    expect(seen({}, true)).toBe(false);
    expect(seen(mode(BODY_MODE.buffered, BODY_MODE.streamed), true)).toBe(true);
  });

  it('[P20] makes no reservation for an observer', () => {
    const { send, routed } = setUp();
    send(requestHeaders({ observing: true }), { ...requestBody(BODY), observing: true });
    expect(routed).toEqual([]);
  });

  it('[P21] answers a body whose headers were not sent, and passes over all that comes after the end', () => {
    const headless = setUp();
    headless.send(requestBody('x', true), requestBody('y', true), REQUEST_TRAILERS);
    expect(headless.kinds()).toEqual(['echo-request-body', 'answer-request-trailers']);
    const twice = setUp();
    twice.send(requestHeaders(), requestBody(BODY), requestBody(BODY), requestHeaders());
    expect(twice.kinds()).toEqual(['answer-request-headers', 'echo-request-body']);
  });

  it('[P11] reports an observer that fails at the end, and still gives the reservation back', () => {
    const broken = new Error('observer');
    const faults: unknown[] = [];
    const routed = { request: { model: 'm' }, destinations: ['a:1'], headers: new Map() };
    const done = (): never => {
      throw broken;
    };
    const { send, session } = setUp({
      router: { route: () => ({ ...routed, done }) as unknown as RoutedRequest },
      onFault: (error) => void faults.push(error),
    });
    send(requestHeaders(), requestBody(BODY));
    session.closed('cancelled');
    expect(faults).toEqual([broken]);
  });

  it('[P12] keeps a control header that the pick sets', () => {
    const { send, actions } = setUp({
      router: {
        route: (request) =>
          ({
            request,
            destinations: ['a:1'],
            headers: new Map([['x-prefiller-host-port', 'b:2']]),
          }) as unknown as RoutedRequest,
      },
    });
    send(
      requestHeaders({ pairs: { 'x-prefiller-host-port': 'evil:1' } } as never),
      requestBody(BODY),
    );
    expect(actions[0]).toMatchObject({ pick: { removeHeaders: [] } });
    expect(actions[0]).toMatchObject({
      pick: { setHeaders: expect.arrayContaining([['x-prefiller-host-port', 'b:2']]) },
    });
  });
});

describe('a session whose request needs something first', () => {
  /** Waits until it may go on. */
  function setUpWaiting() {
    const waits: { request: InferenceRequest; body: string; ready: () => void }[] = [];
    const set = setUp({}, undefined, (request, body, ready) => {
      waits.push({ request, body: Buffer.concat(body).toString(), ready });
      return true;
    });
    return { ...set, waits, ready: () => waits[0]?.ready() };
  }

  it('[E10] answers nothing until it is there, and then as if it had not waited', () => {
    const at = BODY.length - 10;
    const pieces = [requestBody(BODY.slice(0, at), false), requestBody(BODY.slice(at))];
    const plain = setUp();
    plain.send(requestHeaders(), ...pieces);
    const waiting = setUpWaiting();
    waiting.send(requestHeaders(), ...pieces);
    expect(waiting.actions).toEqual([]);
    expect(waiting.waits.map(({ body }) => body)).toEqual([BODY]);
    waiting.ready();
    expect(waiting.actions).toEqual(plain.actions);
    expect(waiting.routed[0]?.request).toBe(waiting.waits[0]?.request);
  });

  it('[E10] takes what comes meanwhile afterwards, in its order', () => {
    const plain = setUp();
    const events = [requestHeaders(), requestBody(BODY, false), REQUEST_TRAILERS];
    const after = [responseHeaders(), responseBody('x', true)];
    plain.send(...events, ...after);
    const waiting = setUpWaiting();
    waiting.send(...events, ...after);
    expect(waiting.actions).toEqual([]);
    waiting.ready();
    expect(waiting.actions).toEqual(plain.actions);
    expect(waiting.ended).toEqual(plain.ended);
  });

  it('[E10] waits in BUFFERED mode before the answer to the body', () => {
    const { send, kinds, ready } = setUpWaiting();
    send(requestHeaders(mode(BODY_MODE.buffered)), requestBody(BODY));
    expect(kinds()).toEqual(['answer-request-headers']);
    ready();
    expect(kinds()).toEqual(['answer-request-headers', 'answer-request-body']);
  });

  it('[E10] picks nothing for a request that has ended meanwhile', () => {
    const { session, send, actions, routed, ready, faults } = setUpWaiting();
    send(requestHeaders(), requestBody(BODY));
    session.closed('cancelled');
    ready();
    expect([actions, routed, faults]).toEqual([[], [], []]);
  });

  it('[E10] rejects a request that cannot be routed after the wait', () => {
    const { send, kinds, ready, rejected } = setUpWaiting();
    const subset = { metadata: { subset: [], served: undefined } };
    send(requestHeaders(subset), requestBody(BODY));
    ready();
    expect(kinds()).toEqual(['reject']);
    expect(rejected).toEqual(['no-endpoints']);
  });
});

describe('answers of the picker itself', () => {
  const local = { status: 200, contentType: 'application/json', body: '{}' };

  it('[D59] takes the place of a pick where a plugin answers, and ends the request', () => {
    const asked: unknown[] = [];
    const respond = (request: RequestLine): LocalResponse => {
      asked.push(request);
      return local;
    };
    const { send, actions, ended, routed } = setUp({ respond });
    const pairs = { ':method': 'GET', ':path': '/v1/models?x' };
    send(requestHeaders({ pairs, endOfStream: true }), requestHeaders({ endOfStream: true }));
    const content = [['content-type', 'application/json']];
    expect(actions).toEqual([{ kind: 'reject', status: 200, headers: content, body: '{}' }]);
    expect(asked).toEqual([{ method: 'GET', path: '/v1/models?x' }]);
    expect([...ended, ...routed]).toEqual([]);
  });

  it('[D59] leaves requests with a body, and those that no plugin answers, to the pick', () => {
    const { send, kinds } = setUp({ respond: () => undefined });
    send(requestHeaders({ pairs: { ':method': 'GET' }, endOfStream: true }));
    expect(kinds()).toEqual(['answer-request-headers']);
    const withBody = setUp({ respond: () => local });
    withBody.send(requestHeaders());
    expect(withBody.kinds()).not.toContain('reject');
  });

  it('[G165] names the endpoint of a pick to who asks for no more, and passes nothing on', () => {
    const { send, actions, ended, routed } = setUp({ answersReservations: () => true });
    const pairs = { prefer: 'reserve-endpoint' };
    send(requestHeaders({ pairs }), requestBody(BODY), responseHeaders());
    expect(actions).toMatchObject([{ kind: 'reject', status: 204, body: '' }]);
    expect(ended).toEqual([{ outcome: 'completed', usage: undefined }]);
    expect(routed[0]?.options).toMatchObject({ firstTokenSeen: false, endSeen: false });
    const without = setUp();
    without.send(requestHeaders({ pairs }), requestBody(BODY));
    expect(without.actions).toMatchObject([{ kind: 'reject', status: 500 }]);
    expect(without.routed).toEqual([]);
  });

  it('[D59] refuses the request with the plugin’s own error', () => {
    const { send, actions } = setUp({
      respond: () => {
        throw new RoutingError('no-endpoints', 'not yet');
      },
    });
    send(requestHeaders({ endOfStream: true }));
    expect(actions).toMatchObject([{ kind: 'reject', status: 503 }]);
  });
});

describe('what plugins report of an answer', () => {
  const metadata = [{ namespace: 'envoy.lb', name: 'cost', value: 3 }];
  const usage = { promptTokens: 1, completionTokens: 2, cachedTokens: undefined };
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
    send(responseBody(text.slice(0, 20)), responseBody(text.slice(20), true));
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
    send(responseBody(text), RESPONSE_TRAILERS);
    expect(actions.at(-1)).toEqual({ kind: 'answer-response-trailers', metadata });
    expect(ended).toEqual([{ outcome: 'completed', usage }]);
  });

  it('[D61] is left out where it is nothing', () => {
    const { send, actions } = setUpReporting([]);
    send(...POST, responseHeaders(), responseBody(text, true));
    expect(actions.at(-1)).not.toHaveProperty('metadata', expect.anything());
  });
});
