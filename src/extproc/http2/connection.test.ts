import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { frame } from '../../../bench/support/http2-frame.ts';
import {
  data,
  Http2Peer,
  headers,
  REQUEST,
  reset,
  settings,
  uint32,
  windowUpdate,
} from '../../../test/support/session/http2-peer.ts';
import { PrefaceError } from './connection.ts';
import { HTTP2 } from './errors.ts';
import { FIRST_WINDOW_BYTES, FLAG, FRAME, PREFACE } from './frames.ts';
import { Http2Stream } from './stream.ts';

const SEED = 20_261_122;
const nothing = (): void => undefined;

/** The code that ends the connection for these frames, after a good beginning. */
function errorOf(...frames: readonly Buffer[]): number | undefined {
  const peer = new Http2Peer().begin();
  peer.receive(...frames);
  const [error] = peer.errors;
  const sent = peer.frames().filter(({ type }) => type === FRAME.goAway);
  expect(sent.map(({ payload }) => payload.readUInt32BE(4))).toEqual(
    error === undefined ? [] : [error.code],
  );
  expect(peer.transport.ended).toBe(error !== undefined);
  return error?.code;
}

describe('the beginning of a connection', () => {
  it('[V185] sends settings first, and acknowledges those of the peer', () => {
    const peer = new Http2Peer();
    peer.receive(PREFACE, settings());
    expect(peer.frames().map(({ type, flags }) => [type, flags])).toEqual([
      [FRAME.settings, 0],
      [FRAME.windowUpdate, 0],
      [FRAME.settings, FLAG.ack],
    ]);
  });

  it('[V186] ends for a client of another protocol, with an error of its own', () => {
    const peer = new Http2Peer();
    peer.receive(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
    expect(peer.errors[0]).toBeInstanceOf(PrefaceError);
    expect(peer.transport.ended).toBe(true);
  });

  it('[V186] ends where anything comes before the settings', () => {
    const peer = new Http2Peer();
    peer.receive(PREFACE, headers(1));
    expect(peer.errors[0]?.code).toBe(HTTP2.protocolError);
  });
});

describe('frames', () => {
  it('[V185] answers a PING with its bytes', () => {
    const peer = new Http2Peer().begin();
    peer.receive(frame(FRAME.ping, 0, 0, Buffer.from('12345678')));
    expect(peer.frames()).toEqual([
      { type: FRAME.ping, flags: FLAG.ack, streamId: 0, payload: Buffer.from('12345678') },
    ]);
  });

  it('[V185] mean the same however they are cut into reads', () => {
    const [begin, end] = [REQUEST.subarray(0, 2), REQUEST.subarray(2)];
    const padded = Buffer.concat([Buffer.of(3), Buffer.from('padded'), Buffer.alloc(3)]);
    const bytes = Buffer.concat([
      PREFACE,
      settings([4, 1000]),
      headers(1),
      data(1, 'hello '),
      frame(FRAME.data, FLAG.padded, 1, padded),
      frame(FRAME.headers, FLAG.endStream, 3, begin),
      frame(FRAME.continuation, FLAG.endHeaders, 3, end),
      frame(0x42, 0xff, 7, Buffer.alloc(20)),
      data(1, ''),
      data(1, 'x'.repeat(300), true),
      headers(5),
      data(5, 'abc'),
      frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 5, Buffer.alloc(0)),
    ]);
    const callsOf = (cuts: readonly number[]): unknown => {
      const peer = new Http2Peer();
      let from = 0;
      for (const to of [...cuts].sort((a, b) => a - b)) {
        peer.receive(bytes.subarray(from, to));
        from = to;
      }
      peer.receive(bytes.subarray(from));
      expect(peer.errors).toEqual([]);
      // Which stream's calls come first, and where data is cut, depends on the reads.
      const byStream = (id: string): string[] => peer.calls.filter((call) => call.startsWith(id));
      return [byStream('1 '), byStream('3 '), byStream('5 ')].map((calls) =>
        calls
          .map((call) => call.replaceAll(/ data /g, ' '))
          .join('')
          .replaceAll(/[135] /g, ''),
      );
    };
    const whole = callsOf([]);
    expect(whole).toEqual([`openhello padded${'x'.repeat(300)}ended`, 'openended', 'openabcended']);
    expect(callsOf([...bytes.keys()])).toEqual(whole);
    const cuts = fc.array(fc.nat(bytes.length), { maxLength: 20 });
    fc.assert(
      fc.property(cuts, (at) => {
        expect(callsOf(at)).toEqual(whole);
      }),
      { seed: SEED, numRuns: 100 },
    );
  });

  it.each([
    ['a frame that is too long', HTTP2.frameSizeError, frame(0x42, 0, 0, Buffer.alloc(16_385))],
    ['a PING of 7 bytes', HTTP2.frameSizeError, frame(FRAME.ping, 0, 0, Buffer.alloc(7))],
    ['a PING on a stream', HTTP2.protocolError, frame(FRAME.ping, 0, 1, Buffer.alloc(8))],
    ['SETTINGS of 5 bytes', HTTP2.frameSizeError, frame(FRAME.settings, 0, 0, Buffer.alloc(5))],
    ['a window of 2^31', HTTP2.flowControlError, settings([4, 2 ** 31])],
    ['frames of 16,383 bytes', HTTP2.protocolError, settings([5, 16_383])],
    ['a stream with an even number', HTTP2.protocolError, headers(2)],
    ['HEADERS on no stream', HTTP2.protocolError, headers(0)],
    ['DATA on a stream that was never open', HTTP2.protocolError, data(1, 'x')],
    ['RST_STREAM on a stream that was never open', HTTP2.protocolError, reset(1)],
    ['PUSH_PROMISE', HTTP2.protocolError, frame(FRAME.pushPromise, 0, 1, Buffer.alloc(4))],
    ['CONTINUATION alone', HTTP2.protocolError, frame(FRAME.continuation, 4, 1, REQUEST)],
    ['an index without a field', HTTP2.compressionError, frame(1, 4, 1, Buffer.of(0xff, 0))],
  ])('[V187] %s ends the connection', (_, code, bytes) => {
    expect(errorOf(bytes)).toBe(code);
  });

  it('[V187] a number that goes back, or is used again, ends the connection', () => {
    expect(errorOf(headers(5), headers(3))).toBe(HTTP2.streamClosed);
    expect(errorOf(headers(1), reset(1), headers(1))).toBe(HTTP2.streamClosed);
  });

  it('[V187] padding longer than its frame ends the connection', () => {
    const bytes = frame(FRAME.data, FLAG.padded, 1, Buffer.of(2, 0));
    expect(errorOf(headers(1), bytes)).toBe(HTTP2.protocolError);
  });
});

describe('header blocks', () => {
  const begin = frame(FRAME.headers, 0, 1, REQUEST);

  it('[V187] must not be interrupted', () => {
    expect(errorOf(begin, frame(FRAME.ping, 0, 0, Buffer.alloc(8)))).toBe(HTTP2.protocolError);
    expect(errorOf(begin, frame(FRAME.continuation, 4, 3))).toBe(HTTP2.protocolError);
  });

  it('[V188] in too many frames, or with too many bytes, end the connection', () => {
    const small = Array.from({ length: 17 }, () => frame(FRAME.continuation, 0, 1));
    expect(errorOf(begin, ...small)).toBe(HTTP2.enhanceYourCalm);
    const large = frame(FRAME.continuation, 0, 1, Buffer.alloc(16_384));
    expect(errorOf(begin, large, large, large)).toBeUndefined();
    expect(errorOf(begin, large, large, large, large)).toBe(HTTP2.enhanceYourCalm);
  });
});

describe('floods', () => {
  it('[V188] of DATA without data end the connection', () => {
    expect(errorOf(headers(1), ...Array.from({ length: 1001 }, () => data(1, '')))).toBe(
      HTTP2.enhanceYourCalm,
    );
  });

  it.each([
    ['PING', frame(FRAME.ping, 0, 0, Buffer.alloc(8))],
    ['SETTINGS', settings()],
  ])('[V188] of %s end the connection of a peer that takes no answers', (_, bytes) => {
    const peer = new Http2Peer().begin();
    const many = Array.from({ length: 5001 }, () => bytes);
    peer.receive(...many);
    peer.receive(...many);
    expect(peer.errors).toEqual([]);
    peer.transport.blocked = true;
    peer.receive(...many);
    peer.receive(...many);
    expect(peer.errors.map(({ code }) => code)).toEqual([HTTP2.enhanceYourCalm]);
  });

  it('[V246] of SETTINGS that change the window end the connection, and cost nothing for each stream', () => {
    const peer = new Http2Peer(1000).begin();
    const ids = Array.from({ length: 500 }, (_, index) => 2 * index + 1);
    peer.receive(...ids.map((id) => headers(id)));
    for (const id of ids) peer.stream(id).send([Buffer.alloc(FIRST_WINDOW_BYTES + 1)], nothing);
    const pumps = vi.spyOn(Http2Stream.prototype, 'pump');
    const changes = (count: number): Buffer[] =>
      Array.from({ length: count }, (_, index) => settings([4, index % 2]));
    peer.receive(windowUpdate(0, 2 ** 30), ...changes(1000));
    expect(peer.errors).toEqual([]);
    // One round for the larger window of the connection, and none for those of streams that end as
    // they were.
    expect(pumps.mock.calls.length).toBeLessThan(3 * ids.length);
    peer.receive(...changes(1));
    expect(peer.errors.map(({ code }) => code)).toEqual([HTTP2.enhanceYourCalm]);
    pumps.mockRestore();
  });

  it('[V188] of requests end the connection of a peer that takes no answers', () => {
    const peer = new Http2Peer().begin();
    peer.onOpen = (stream) => stream.respondOnly(REQUEST);
    peer.transport.blocked = true;
    for (let id = 1; id <= 20_001; id += 2) peer.receive(headers(id, true));
    expect(peer.errors.map(({ code }) => code)).toEqual([HTTP2.enhanceYourCalm]);
  });
});

describe('the end of a connection', () => {
  it('[V189] refuses further streams after GOAWAY, and ends with the last that is open', () => {
    const peer = new Http2Peer().begin();
    peer.receive(headers(1));
    peer.connection.goAway();
    const [goAway] = peer.frames();
    expect(goAway?.payload).toEqual(Buffer.concat([uint32(1), uint32(HTTP2.noError)]));
    peer.receive(headers(3));
    expect(peer.frames()).toMatchObject([
      { type: FRAME.resetStream, streamId: 3, payload: uint32(HTTP2.refusedStream) },
    ]);
    expect(peer.transport.ended).toBe(false);
    peer.receive(data(1, 'x', true));
    peer.stream(1).respondOnly(REQUEST);
    peer.transport.turn();
    expect(peer.transport.ended).toBe(true);
    expect(peer.calls).toEqual(['1 open', '1 data x', '1 ended', '1 closed']);
  });

  it('[V189] GOAWAY without open streams ends it at once', () => {
    const peer = new Http2Peer().begin();
    peer.connection.goAway();
    peer.transport.turn();
    expect(peer.transport.ended).toBe(true);
  });

  it('[V189] closes each stream once, however it ends', () => {
    const peer = new Http2Peer().begin();
    peer.receive(headers(1), headers(3), headers(5));
    peer.stream(3).reset(HTTP2.cancel);
    peer.receive(reset(5), data(7, 'x'));
    peer.connection.closed();
    peer.connection.closed();
    peer.transport.turn();
    const closed = peer.calls.filter((call) => call.endsWith('closed')).sort();
    expect(closed).toEqual(['1 closed', '3 closed', '5 closed']);
  });
});
