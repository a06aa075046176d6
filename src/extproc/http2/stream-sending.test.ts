import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { frame } from '../../../bench/support/http2-frame.ts';
import {
  bodyOf,
  Http2Peer,
  headers,
  REQUEST,
  reset,
  settings,
  uint32,
  windowUpdate,
} from '../../../test/support/session/http2-peer.ts';
import { HTTP2 } from './errors.ts';
import { FIRST_WINDOW_BYTES, FRAME, FRAME_BYTES_MAX, WINDOW_BYTES_MAX } from './frames.ts';
import { Http2Stream } from './stream.ts';

const SEED = 20_261_122;
const WINDOW_SETTING = 4;
const nothing = (): void => undefined;

describe('what a peer takes', () => {
  it('[V192] is sent once its window opens, and then the trailers', () => {
    const peer = new Http2Peer().begin([WINDOW_SETTING, 0]);
    let sent = 0;
    peer.receive(headers(1, true));
    peer.stream(1).respond(REQUEST);
    peer.stream(1).send([Buffer.from('hello')], () => (sent += 1));
    peer.stream(1).end(REQUEST);
    expect(peer.frames().map(({ type }) => type)).toEqual([FRAME.headers]);
    peer.receive(windowUpdate(1, 2));
    expect(bodyOf(peer.frames(), 1).toString()).toBe('he');
    expect(sent).toBe(0);
    peer.receive(windowUpdate(1, 3));
    expect(peer.frames().map(({ type }) => type)).toEqual([FRAME.data, FRAME.headers]);
    expect(sent).toBe(1);
  });

  it('[V192] may shrink below zero, and nothing is sent until it is above', () => {
    const peer = new Http2Peer().begin([WINDOW_SETTING, 10]);
    peer.receive(headers(1));
    peer.stream(1).send([Buffer.from('0123456789abc')], nothing);
    expect(bodyOf(peer.frames(), 1).toString()).toBe('0123456789');
    peer.receive(settings([WINDOW_SETTING, 0]), windowUpdate(1, 10));
    expect(bodyOf(peer.frames(), 1).toString()).toBe('');
    peer.receive(windowUpdate(1, 1));
    expect(bodyOf(peer.frames(), 1).toString()).toBe('a');
  });

  it('[V187] is too much above 2^31 - 1: the stream is reset, or the connection ends', () => {
    const peer = new Http2Peer().begin();
    peer.receive(headers(1), windowUpdate(1, WINDOW_BYTES_MAX));
    expect(peer.frames()).toMatchObject([{ payload: uint32(HTTP2.flowControlError) }]);
    peer.receive(windowUpdate(0, WINDOW_BYTES_MAX));
    expect(peer.errors[0]?.code).toBe(HTTP2.flowControlError);
  });

  it('[V187] ends the connection where settings make it more than 2^31 - 1, unless that stream has closed', () => {
    const peer = new Http2Peer().begin();
    peer.receive(headers(1), headers(3), windowUpdate(1, WINDOW_BYTES_MAX - FIRST_WINDOW_BYTES));
    peer.receive(reset(1), settings([WINDOW_SETTING, FIRST_WINDOW_BYTES + 1]));
    expect(peer.errors).toEqual([]);
    peer.receive(windowUpdate(3, WINDOW_BYTES_MAX - FIRST_WINDOW_BYTES - 1));
    peer.receive(settings([WINDOW_SETTING, FIRST_WINDOW_BYTES + 2]));
    expect(peer.errors.map(({ code }) => code)).toEqual([HTTP2.flowControlError]);
  });

  it('[V246] is not looked at again and again while only windows of others open', () => {
    const peer = new Http2Peer().begin([WINDOW_SETTING, 0]);
    peer.receive(...[1, 3, 5].map((id) => headers(id)));
    for (const id of [1, 3, 5]) peer.stream(id).send([Buffer.from('hello')], nothing);
    const pumps = vi.spyOn(Http2Stream.prototype, 'pump');
    for (let read = 0; read < 100; read++) peer.receive(windowUpdate(0, 1));
    expect(pumps.mock.calls.length).toBeLessThanOrEqual(3);
    pumps.mockRestore();
    peer.receive(windowUpdate(3, 5));
    expect(bodyOf(peer.frames(), 3).toString()).toBe('hello');
    peer.receive(settings([WINDOW_SETTING, 5]));
    const frames = peer.frames();
    expect([1, 5].map((id) => bodyOf(frames, id).toString())).toEqual(['hello', 'hello']);
  });

  it('[V192] is shared by turns among streams that wait for the same window', () => {
    const peer = new Http2Peer().begin([WINDOW_SETTING, WINDOW_BYTES_MAX]);
    peer.receive(...[1, 3, 5].map((id) => headers(id)));
    peer.stream(1).send([Buffer.alloc(FIRST_WINDOW_BYTES)], nothing);
    for (const id of [1, 3, 5]) peer.stream(id).send([Buffer.alloc(1_000_000)], nothing);
    peer.frames();
    peer.receive(windowUpdate(0, 6 * 64 * 1024));
    const frames = peer.frames();
    for (const id of [1, 3, 5]) expect(bodyOf(frames, id)).toHaveLength(2 * 64 * 1024);
  });

  it('[V193] is nothing but control frames while its transport is blocked', () => {
    const peer = new Http2Peer().begin();
    peer.receive(headers(1));
    peer.transport.blocked = true;
    peer.stream(1).send([Buffer.from('hello')], nothing);
    peer.receive(frame(FRAME.ping, 0, 0, Buffer.alloc(8)), windowUpdate(1, 1));
    expect(peer.frames().map(({ type }) => type)).toEqual([FRAME.ping]);
    peer.transport.blocked = false;
    peer.connection.drained();
    expect(bodyOf(peer.frames(), 1).toString()).toBe('hello');
  });

  it('[V192] [V194] arrives whole and in order, whatever windows and transport do', () => {
    const ids = [1, 3, 5];
    const id = fc.constantFrom(...ids);
    const step = fc.oneof(
      fc.tuple(fc.constant('send'), id, fc.array(fc.nat(20_000), { maxLength: 4 })),
      fc.tuple(
        fc.constant('widen'),
        fc.constantFrom(0, ...ids),
        fc.tuple(fc.integer({ min: 1, max: 40_000 })),
      ),
      fc.tuple(fc.constant('settings'), id, fc.tuple(fc.nat(30_000))),
      fc.tuple(fc.constantFrom('block', 'unblock', 'hold', 'leave'), id, fc.constant([])),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.nat(20_000), (steps, firstWindow) => {
        const peer = new Http2Peer().begin([WINDOW_SETTING, firstWindow]);
        const { transport } = peer;
        peer.receive(...ids.map((each) => headers(each, true)));
        const bodies = new Map(ids.map((each): [number, Buffer[]] => [each, []]));
        const windows = new Map([
          [0, FIRST_WINDOW_BYTES],
          ...ids.map((each) => [each, firstWindow] as const),
        ]);
        let setting = firstWindow;
        let [sends, sent, filler] = [0, 0, 0];
        const got = new Map(ids.map((each): [number, Buffer[]] => [each, []]));
        const take = (): void => {
          for (const { type, streamId, payload } of peer.frames()) {
            if (type !== FRAME.data) continue;
            got.get(streamId)?.push(Buffer.from(payload));
            for (const each of [0, streamId])
              windows.set(each, (windows.get(each) ?? 0) - payload.length);
            expect(windows.get(0)).toBeGreaterThanOrEqual(0);
            expect(payload.length).toBeLessThanOrEqual(FRAME_BYTES_MAX);
          }
        };
        const widen = (each: number, bytes: number): void => {
          windows.set(each, (windows.get(each) ?? 0) + bytes);
          peer.receive(windowUpdate(each, bytes));
        };
        for (const [kind, each, sizes] of steps) {
          const [bytes = 0] = sizes;
          if (kind === 'send') {
            const pieces = sizes.map((size) => Buffer.alloc(size, ++filler));
            bodies.get(each)?.push(...pieces);
            sends += 1;
            peer.stream(each).send(pieces, () => (sent += 1));
          } else if (kind === 'widen') widen(each, bytes);
          else if (kind === 'settings') {
            for (const own of ids) windows.set(own, (windows.get(own) ?? 0) + bytes - setting);
            setting = bytes;
            peer.receive(settings([WINDOW_SETTING, bytes]));
          } else if (kind === 'block') transport.blocked = true;
          else if (kind === 'unblock') {
            transport.blocked = false;
            peer.connection.drained();
          } else if (kind === 'hold') transport.idle = false;
          else {
            transport.leave();
            transport.idle = true;
          }
          take();
        }
        transport.leave();
        transport.idle = true;
        transport.blocked = false;
        for (const each of ids) peer.stream(each).end(REQUEST);
        for (const each of [0, ...ids]) widen(each, 10_000_000);
        peer.connection.drained();
        take();
        expect(sent).toBe(sends);
        for (const each of ids) {
          expect(
            Buffer.concat(got.get(each) ?? []).equals(Buffer.concat(bodies.get(each) ?? [])),
          ).toBe(true);
          expect(windows.get(each)).toBeGreaterThanOrEqual(0);
        }
        peer.transport.turn();
        expect(peer.calls.filter((call) => call.endsWith('closed'))).toHaveLength(ids.length);
      }),
      { seed: SEED, numRuns: 150 },
    );
  });
});
