import { describe, expect, it } from 'vitest';
import {
  mode,
  REQUEST_TRAILERS,
  requestBody,
  requestHeaders,
  requestPart,
  setUp,
} from '../../../test/support/session/session-bed.ts';
import { createOpenBody } from '../../openai/parsers/open-body.ts';
import { BODY_MODE, type StreamEvent } from '../codec/stream-event.ts';

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

  it('[D33] reports its size at its end, where it was not the announced one', () => {
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
