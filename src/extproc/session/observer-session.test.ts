import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { headers, PLAIN } from '../../../test/support/session/session-bed.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Outcome } from '../../framework/observer.ts';
import type { InferenceRequest, PromptBlocks } from '../../framework/request.ts';
import type { Destination, RouteOptions } from '../../framework/routing.ts';
import { createOpenBody } from '../../openai/parsers/open-body.ts';
import type { StreamAction } from '../codec/stream-action.ts';
import { BODY_MODE, type StreamEvent } from '../codec/stream-event.ts';
import { ObserverSession, type ObserverSessionOptions } from './observer-session.ts';

const BODY = '{"model":"m","prompt":"hello"}';
const CHOSEN = '10.0.0.1:8000';

function requestHeaders(
  pairs: Readonly<Record<string, string>> = { 'x-gateway-destination-endpoint': CHOSEN },
  more: Partial<StreamEvent> = {},
): StreamEvent {
  const own = { ':method': 'POST', ':path': '/v1/completions' };
  return {
    ...PLAIN,
    kind: 'request-headers',
    headers: headers({ ...own, ...pairs }),
    endOfStream: false,
    ...more,
  } as StreamEvent;
}

const body = (
  kind: 'request-body' | 'response-body',
  text: string,
  endOfStream = true,
): StreamEvent => ({ ...PLAIN, kind, chunk: Buffer.from(text), endOfStream });
const RESPONSE: StreamEvent = {
  ...PLAIN,
  kind: 'response-headers',
  headers: headers({ ':status': '200' }),
  endOfStream: false,
};
const REQUEST_TRAILERS: StreamEvent = { ...PLAIN, kind: 'request-trailers' };
const RESPONSE_TRAILERS = { ...PLAIN, kind: 'response-trailers', headers: headers({}) } as const;

const modes = (requestBodyMode: number, responseBodyMode: number, observing = false) => ({
  observing,
  protocol: { requestBodyMode, responseBodyMode, sendsBodyWithoutWaiting: false },
});
const WATCHED = modes(BODY_MODE.streamed, BODY_MODE.streamed, true);

function setUp(overrides: Partial<ObserverSessionOptions> = {}) {
  const actions: StreamAction[] = [];
  const routed: {
    request: InferenceRequest;
    destination: Destination;
    options: RouteOptions | undefined;
  }[] = [];
  const read: InferenceRequest[] = [];
  const conversations: PromptBlocks[] = [];
  const ended: Outcome[] = [];
  const unbooked: string[] = [];
  const faults: unknown[] = [];
  let firstTokens = 0;
  let booked = 0;
  const session = new ObserverSession(
    {
      router: {
        book: (request, destination, options) => {
          routed.push({ request, destination, options });
          let open = true;
          return {
            request,
            endpoint: {} as Endpoint,
            destinations: [CHOSEN],
            headers: new Map([['x-of-a-pick', 'must not be seen']]),
            responseHeaders: () => new Map([['x-of-a-marker', 'must not be seen']]),
            firstToken: () => {
              firstTokens += 1;
            },
            served: () => undefined,
            bodyRead: (complete) => void read.push(complete),
            wantsAnswer: true,
            answered: (conversation) => void conversations.push(conversation),
            done: (outcome) => {
              if (open) ended.push(outcome);
              open = false;
            },
          };
        },
      },
      openBody: createOpenBody({ bodyBytesMax: 1000, hashSeed: 1 }),
      newRequestId: () => 'ours-1',
      knows: (address) => address === CHOSEN,
      onBooked: () => {
        booked += 1;
      },
      onUnbooked: (reason) => void unbooked.push(reason),
      onFault: (error) => void faults.push(error),
      ...overrides,
    },
    (action) => void actions.push(action),
  );
  return {
    session,
    actions,
    routed,
    read,
    conversations,
    ended,
    unbooked,
    faults,
    firstTokens: () => firstTokens,
    booked: () => booked,
    kinds: () => actions.map(({ kind }) => kind),
    send: (...events: readonly StreamEvent[]) => {
      for (const event of events) session.on(event);
    },
  };
}

describe('an observer, of answers', () => {
  it('[P35] reports the conversation as a picker in charge does', () => {
    const { send, conversations } = setUp();
    const type = { ':status': '200', 'content-type': 'application/json' };
    const answer = `{"choices":[{"message":{"role":"assistant","content":"${'b'.repeat(600)}"}}]}`;
    const to = { ':path': '/v1/chat/completions', 'x-gateway-destination-endpoint': CHOSEN };
    const asked = '{"model":"m","messages":[{"role":"user","content":"hello"}]}';
    send(requestHeaders(to), body('request-body', asked));
    send({ ...PLAIN, kind: 'response-headers', headers: headers(type), endOfStream: false });
    send(body('response-body', answer));
    expect(conversations.map(({ count }) => count)).toEqual([2]);
  });
});

describe('an observer, of requests without a body', () => {
  it.each(['GET', 'POST'])('[D361] books no %s, and misses none', (method) => {
    const { send, session, booked, unbooked, kinds } = setUp();
    const to = { ':method': method, 'x-gateway-destination-endpoint': CHOSEN };
    send({ ...requestHeaders(to), endOfStream: true } as StreamEvent, RESPONSE);
    session.closed('ended');
    expect([booked(), unbooked]).toEqual([0, []]);
    expect(kinds()).toEqual(['answer-request-headers', 'answer-response-headers']);
  });
});

describe('an observer, towards the proxy', () => {
  it('[B1] answers each message at once, and changes nothing', () => {
    const { send, actions } = setUp();
    send(requestHeaders(undefined, modes(BODY_MODE.buffered, BODY_MODE.streamed)));
    send(body('request-body', BODY), RESPONSE, body('response-body', 'x'), RESPONSE_TRAILERS);
    expect(actions).toEqual([
      { kind: 'answer-request-headers', pick: undefined },
      { kind: 'answer-request-body', pick: undefined },
      { kind: 'answer-response-headers', setHeaders: [] },
      { kind: 'answer-response-body' },
      { kind: 'answer-response-trailers' },
    ]);
  });

  it('[B1] sends full duplex bodies back as they came, whatever comes in what order', () => {
    const text = fc.string({ maxLength: 40 });
    const event = fc.oneof(
      fc.constantFrom(requestHeaders(), requestHeaders({}), RESPONSE, REQUEST_TRAILERS),
      fc.constant(RESPONSE_TRAILERS),
      fc
        .tuple(fc.constantFrom('request-body' as const, 'response-body' as const), text)
        .map(([kind, each]) => body(kind, each, each.length % 3 === 0)),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), (events) => {
        const { send, actions, faults, session } = setUp();
        send(...events);
        session.closed('ended');
        expect(faults).toEqual([]);
        expect(actions.some(({ kind }) => /immediate-response|half-close/.test(kind))).toBe(false);
        const came = events.flatMap((each) => ('chunk' in each ? [each.chunk.toString()] : []));
        const sent = actions.flatMap((each) =>
          'pieces' in each ? [Buffer.concat(each.pieces).toString()] : [],
        );
        expect(sent).toEqual(came);
        expect(actions).toHaveLength(events.length);
      }),
      { seed: 20261121, numRuns: 300 },
    );
  });

  it('[B1] says nothing in observability_mode', () => {
    const { send, actions, booked } = setUp();
    send(requestHeaders(undefined, WATCHED), body('request-body', BODY), RESPONSE);
    send(body('response-body', 'x', false), body('response-body', '', true));
    expect(actions).toEqual([]);
    expect(booked()).toBe(1);
  });

  it('[B1] lets a request pass at which it fails, and reports the fault', () => {
    const fault = new Error('ours');
    const { send, kinds, faults, session } = setUp({
      router: {
        book: () => {
          throw fault;
        },
      },
    });
    send(requestHeaders(), body('request-body', BODY), RESPONSE, body('response-body', 'x'));
    session.closed('ended');
    expect(kinds()).toEqual([
      'answer-request-headers',
      'echo-request-body',
      'answer-response-headers',
      'echo-response-body',
    ]);
    expect(faults).toEqual([fault]);
  });
});

describe('an observer’s books', () => {
  it('[B2] has the destination from the header, the first of several, with the place of the prefill', () => {
    const { send, routed } = setUp();
    const chosen = `${CHOSEN}, 10.0.0.2:8000`;
    const prefill = { 'x-prefiller-host-port': '10.0.0.9:8000' };
    send(requestHeaders({ 'x-gateway-destination-endpoint': chosen, ...prefill }));
    send(body('request-body', BODY));
    expect(routed[0]?.destination).toEqual({ destination: CHOSEN, prefill: '10.0.0.9:8000' });
    expect(routed[0]?.request.model).toBe('m');
  });

  it('[B2] takes the endpoint from metadata rather than from a header', () => {
    const { send, routed } = setUp();
    const metadata = { subset: undefined, served: undefined, destination: CHOSEN };
    send(requestHeaders({ 'x-gateway-destination-endpoint': '6.6.6.6:1' }, { metadata }));
    send(body('request-body', BODY));
    expect(routed[0]?.destination.destination).toBe(CHOSEN);
  });

  it.each([
    ['no-destination', {}, BODY],
    ['unknown-endpoint', { 'x-gateway-destination-endpoint': '10.0.0.7:8000' }, BODY],
    ['unreadable', { 'x-gateway-destination-endpoint': CHOSEN }, '{"model":'],
    ['unreadable', { 'x-gateway-destination-endpoint': CHOSEN }, 'x'.repeat(2000)],
  ])('[B3] leaves out and counts: %s', (reason, pairs, text) => {
    const { send, unbooked, routed, faults, kinds, session } = setUp();
    send(requestHeaders(pairs), body('request-body', text), RESPONSE, body('response-body', 'x'));
    session.closed('ended');
    expect([unbooked, routed, faults]).toEqual([[reason], [], []]);
    expect(kinds()).not.toContain('immediate-response');
  });

  it('[B3] [D481] leaves out and counts: one cut short, and one answered before its headers', () => {
    const [cut, refused] = [setUp(), setUp()];
    cut.send(requestHeaders(), body('request-body', BODY, false));
    cut.session.closed('cancelled');
    refused.send(RESPONSE, body('response-body', 'inference error', true));
    expect([cut.unbooked, refused.unbooked]).toEqual([['cut-short'], ['refused']]);
  });

  it('[B4] holds a request once its body has ended, or its answer comes; the complete one is reported', () => {
    const { send, routed, read, ended, firstTokens } = setUp();
    send(requestHeaders(undefined, WATCHED), body('request-body', BODY.slice(0, 20), false));
    expect(routed).toHaveLength(0);
    send(RESPONSE);
    expect(routed).toHaveLength(1);
    send(body('request-body', BODY.slice(20)), body('response-body', 'tokens', true));
    expect(read.map(({ model }) => model)).toEqual(['m']);
    expect([firstTokens(), ended]).toEqual([1, ['completed']]);
  });

  it('[B4] holds one whose body is never shown by what its headers say', () => {
    const { send, routed } = setUp();
    send(requestHeaders(undefined, modes(BODY_MODE.none, BODY_MODE.none, true)));
    expect(routed).toHaveLength(1);
  });

  it('[B5] ends what it cannot see the end of when the model says', () => {
    const { send, routed, ended } = setUp();
    send(requestHeaders(undefined, modes(BODY_MODE.streamed, BODY_MODE.none, true)));
    send(body('request-body', BODY));
    expect(routed[0]?.options).toMatchObject({ firstTokenVisible: false, endVisible: false });
    send(RESPONSE);
    // The ticket keeps it for as long as the model says.
    expect(ended).toEqual(['completed']);
  });

  it('[B5] gives back what a broken stream leaves, once', () => {
    const { send, ended, session } = setUp();
    send(requestHeaders(), body('request-body', BODY));
    session.closed('cancelled');
    session.closed('ended');
    expect(ended).toEqual(['aborted']);
  });
});
