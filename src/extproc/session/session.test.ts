import { describe, expect, it } from 'vitest';
import {
  BODY,
  EARLY,
  mode,
  REQUEST_TRAILERS,
  requestBody,
  requestHeaders,
  requestPart,
  responseEnd,
  responseHeaders,
  setUp,
  textOf,
} from '../../../test/support/session/session-bed.ts';
import { BODY_MODE } from '../codec/stream-event.ts';

describe('a session', () => {
  it('[P1] withholds everything until the body has ended, then answers and echoes it in pieces', () => {
    const { send, kinds, actions } = setUp();
    const long = `{"model":"m","messages":[{"role":"user","content":"${'x'.repeat(150_000)}"}]}`;
    send(requestHeaders(), requestPart(long.slice(0, 70_000)));
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
    send(requestHeaders(), requestPart(BODY), REQUEST_TRAILERS);
    expect(kinds()).toEqual([
      'answer-request-headers',
      'echo-request-body',
      'answer-request-trailers',
    ]);
    expect(actions[0]).toMatchObject({ pick: { setHeaders: [] } });
    expect(actions[1]).toMatchObject({ endOfStream: false });
  });

  it.each(['GET', 'DELETE', 'POST'])(
    '[P4] sends a %s without a body to any endpoint of its subset at its headers, and prepares nothing',
    (method) => {
      const bed = setUp({}, undefined, () => expect.fail('prepared'));
      const metadata = { subset: ['10.0.0.1'] };
      const pairs = { ':method': method, 'x-prefiller-host-port': '10.9.9.9:1' };
      bed.send(requestHeaders({ endOfStream: true, pairs, metadata } as never));
      const removeHeaders = ['x-prefiller-host-port'];
      const pick = { destination: '10.0.0.1:8000', removeHeaders };
      expect(bed.actions).toMatchObject([{ kind: 'answer-request-headers', pick }]);
      expect(bed.routed[0]?.options).toMatchObject({ anywhere: true, subset: ['10.0.0.1'] });
      bed.send(responseHeaders(), responseEnd('{}'));
      expect(textOf(bed.actions, 'echo-response-body')).toBe('{}');
    },
  );

  it('[P4] decides a request whose body comes, and is empty', () => {
    const { send, routed } = setUp();
    send(requestHeaders({ pairs: { ':path': '/other' } }), requestBody(''));
    expect(routed[0]?.options?.anywhere).toBeUndefined();
  });

  it.each([BODY_MODE.buffered, BODY_MODE.bufferedPartial])(
    '[P5] picks at the one body message of mode %d',
    (bodyMode) => {
      const { send, actions } = setUp();
      send(requestHeaders(mode(bodyMode)));
      expect(actions).toEqual([{ kind: 'answer-request-headers', pick: undefined }]);
      send(requestPart(BODY), REQUEST_TRAILERS);
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
    send(requestHeaders({ ...EARLY, pairs } as never), requestPart(body.slice(0, 500)));
    expect(kinds()).toEqual([]);
    send(requestPart(body.slice(500, 1500)));
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
        send(requestHeaders({ ...protocol, pairs } as never), requestPart(BODY.slice(0, 20)));
        send(requestBody(BODY.slice(20)));
        const refused = actions.at(-1);
        expect(refused).toMatchObject({ kind: 'immediate-response', status: 503 });
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
    send(requestHeaders(EARLY), requestPart(BODY));
    expect(kinds()).toEqual(['answer-request-headers', 'answer-request-body']);
    send(REQUEST_TRAILERS);
    expect(kinds().at(-1)).toBe('answer-request-trailers');
  });

  it('[P7] reads on after an early pick, reports the whole request, and still refuses one that turns out bad', () => {
    const body = `{"model":"m","messages":[{"role":"user","content":"${'x'.repeat(4000)}"}]}`;
    const good = setUp();
    good.send(
      requestHeaders(EARLY),
      requestPart(body.slice(0, 2000)),
      requestBody(body.slice(2000)),
    );
    expect(good.read).toHaveLength(1);
    expect(good.read[0]?.prompt.count).toBeGreaterThan(good.routed[0]?.request.prompt.count ?? 0);
    const bad = setUp();
    bad.send(requestHeaders(EARLY), requestPart(body.slice(0, 2000)), requestBody('\u0001'));
    expect(bad.actions.at(-1)).toMatchObject({ kind: 'immediate-response', status: 400 });
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

  it('[P20] never answers an observer', () => {
    const { send, actions } = setUp();
    send(requestHeaders({ observing: true }), requestBody(BODY), responseHeaders());
    expect(actions).toEqual([]);
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
    send(requestHeaders(), requestPart('x'.repeat(10)));
    expect(routed).toHaveLength(0);
    const { send: go, session: whole, routed: picks, ended: ends } = setUp();
    go(
      requestHeaders(),
      requestPart(BODY.slice(0, 5)),
      requestHeaders(EARLY),
      requestBody(BODY.slice(5)),
    );
    whole.closed('cancelled');
    session.closed('cancelled');
    expect([picks.length, ends.length, ended.length]).toEqual([1, 1, 0]);
  });

  it('[P24] picks by the part of a body that fitted the proxy’s buffer', () => {
    const { send, actions } = setUp();
    send(requestHeaders(mode(BODY_MODE.bufferedPartial)), requestPart(BODY.slice(0, 20)));
    expect(actions.at(-1)).toMatchObject({ pick: { destination: '10.0.0.1:8000' } });
    const whole = setUp();
    whole.send(requestHeaders(mode(BODY_MODE.bufferedPartial)), requestBody(BODY.slice(0, 20)));
    expect(whole.actions.at(-1)).toMatchObject({ kind: 'immediate-response', status: 400 });
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

  it('[P8] reads the body that comes after the answer, and reports the whole request', () => {
    const { send, read } = setUp();
    send(requestHeaders(mode(BODY_MODE.streamed)), requestBody(BODY));
    expect(read).toMatchObject([{ model: 'm' }]);
  });

  it('[P20] makes no reservation for an observer', () => {
    const { send, routed } = setUp();
    send(requestHeaders({ observing: true }), { ...requestBody(BODY), observing: true });
    expect(routed).toEqual([]);
  });

  it('[P21] answers a body whose headers were not sent, and passes over all that comes after the end', () => {
    const headless = setUp();
    headless.send(requestBody('x'), requestBody('y'), REQUEST_TRAILERS);
    expect(headless.kinds()).toEqual(['echo-request-body', 'answer-request-trailers']);
    const twice = setUp();
    twice.send(requestHeaders(), requestBody(BODY), requestBody(BODY), requestHeaders());
    expect(twice.kinds()).toEqual(['answer-request-headers', 'echo-request-body']);
  });
});
