import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BODY,
  EARLY,
  mode,
  PLAIN,
  REQUEST_TRAILERS,
  RESPONSE_TRAILERS,
  requestBody,
  requestHeaders,
  requestPart,
  responseEnd,
  responseHeaders,
  responsePart,
  SCORED,
  setUp,
  textOf,
} from '../../../test/support/session/session-bed.ts';
import { RoutingError } from '../../framework/error.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import { createOpenBody } from '../../openai/parsers/open-body.ts';
import { BODY_MODE, type CloseReason, type StreamEvent } from '../codec/stream-event.ts';
import { BLOCK_BYTES } from '../streams/block-pool.ts';

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
    send(requestHeaders(EARLY), requestPart(BODY));
    expect(kinds()).toEqual(['answer-request-headers', 'answer-request-body']);
    send(REQUEST_TRAILERS);
    expect(kinds().at(-1)).toBe('answer-request-trailers');
  });

  it('[P7] reads on after an early pick, tells the whole request, and still refuses what turns out bad', () => {
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

  it('[D40] tells the proxy what the endpoint was chosen from, where that is asked for', () => {
    const picks = [true, false, undefined].map((emitEndpointScores) => {
      const { send, actions } = setUp({ emitEndpointScores });
      send(requestHeaders(), requestBody(BODY));
      const [first] = actions;
      return first?.kind === 'answer-request-headers' ? first.pick?.scores : 'none';
    });
    expect(picks).toEqual([SCORED, undefined, undefined]);
  });

  it('[P12] removes the control headers a client sent, and only those', () => {
    const { send, actions } = setUp();
    send(
      requestHeaders({ pairs: { 'x-prefiller-host-port': 'h:1', 'x-mine': '1' } } as never),
      requestBody(BODY),
    );
    expect(actions[0]).toMatchObject({ pick: { removeHeaders: ['x-prefiller-host-port'] } });
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
        responsePart('a'),
        responseEnd(''),
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
    send(requestHeaders(), requestPart(BODY.slice(0, 20)));
    expect([session.phase, heldBytes()]).toEqual(['uploading', 512 + 20 + 2]);
    send(requestPart(BODY.slice(20, 30)));
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
    send(requestHeaders(mode(BODY_MODE.bufferedPartial)), requestPart(BODY.slice(0, 20)));
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
      send(begin({}, { 'content-length': '24' }), requestPart('{"not json: '));
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
      chunked.send(begin(), requestPart('abcd'), requestBody('efgh'));
      expect(chunked.read).toMatchObject([{ promptTokens: 2, bodyBytes: 8 }]);
      const byTrailers = setUp();
      byTrailers.send(begin(), requestPart('abcd'), REQUEST_TRAILERS);
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
      send(begin(), requestPart('abc'), requestBody('d'));
      expect(kinds().slice(1)).toEqual(['echo-request-body', 'echo-request-body', 'half-close']);
    });
  });

  it('[P8] reads the body that comes after the answer, and tells the whole request', () => {
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
