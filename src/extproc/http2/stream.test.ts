import { describe, expect, it } from 'vitest';
import { frame } from '../../../bench/support/http2-frame.ts';
import {
  data,
  Http2Peer,
  headers,
  REQUEST,
  reset,
  uint32,
} from '../../../test/support/session/http2-peer.ts';
import { HTTP2 } from './errors.ts';
import { FLAG, FRAME, FRAME_BYTES_MAX, STREAM_WINDOW_BYTES } from './frames.ts';

const WINDOW_SETTING = 4;

describe('a stream', () => {
  it('[V17] that is reset in the read that opens it has no handler', () => {
    const peer = new Http2Peer().begin();
    peer.receive(headers(1, true), reset(1));
    expect(peer.calls).toEqual([]);
    expect(peer.frames()).toEqual([]);
  });

  it('[V457] that is reset in the read that opens it has no handler for what came of it', () => {
    const peer = new Http2Peer().begin();
    peer.receive(headers(1), data(1, 'x'), headers(3), data(3, 'y', true), reset(1), reset(3));
    expect(peer.calls).toEqual([]);
    expect(peer.connection.openStreams).toBe(0);
    peer.receive(headers(5), data(5, 'a'), data(5, 'b', true));
    expect(peer.calls).toEqual(['5 open', '5 data ab', '5 ended']);
  });

  it('[V457] that is paused as it opens keeps what came of it in that read', () => {
    const peer = new Http2Peer().begin();
    peer.onOpen = (stream) => stream.pause();
    peer.receive(headers(1), data(1, 'a'), data(1, 'b', true));
    expect(peer.calls).toEqual(['1 open']);
    peer.stream(1).resume();
    expect(peer.calls).toEqual(['1 open', '1 data ab', '1 ended']);
  });

  it('[V190] that ends and is reset in the same read has ended, and gets no trailers', () => {
    const peer = new Http2Peer().begin();
    peer.receive(headers(1));
    peer.stream(1).respond(REQUEST);
    peer.frames();
    peer.receive(data(1, 'x', true), reset(1));
    peer.stream(1).end(REQUEST);
    expect(peer.calls).toEqual(['1 open', '1 data x', '1 ended', '1 closed']);
    expect(peer.frames()).toEqual([]);
  });

  it('[V187] that is one too many is refused, and the others go on', () => {
    const peer = new Http2Peer(1).begin();
    peer.receive(headers(1), headers(3), data(1, 'x'));
    expect(peer.calls).toEqual(['1 open', '1 data x']);
    expect(peer.frames()).toMatchObject([
      { type: FRAME.resetStream, streamId: 3, payload: uint32(HTTP2.refusedStream) },
    ]);
  });

  it('[V187] on which DATA follows its end is reset, and the others go on', () => {
    const peer = new Http2Peer().begin();
    peer.receive(headers(1, true), headers(3), data(1, 'x'));
    expect(peer.frames()).toMatchObject([{ payload: uint32(HTTP2.streamClosed) }]);
    peer.receive(data(3, 'y'));
    expect(peer.calls).toContain('3 data y');
  });

  it('[V187] whose answer ends first is reset, and what still comes is ignored', () => {
    const peer = new Http2Peer().begin();
    peer.receive(headers(1));
    peer.stream(1).respondOnly(REQUEST);
    peer.receive(data(1, 'late'));
    expect(peer.frames().map(({ type, payload }) => [type, payload.length])).toEqual([
      [FRAME.headers, REQUEST.length + 1],
      [FRAME.resetStream, 4],
    ]);
    expect(peer.calls).toEqual(['1 open', '1 closed']);
  });
});

describe('what a peer may send', () => {
  const block = Buffer.alloc(FRAME_BYTES_MAX);
  const blocks = STREAM_WINDOW_BYTES / FRAME_BYTES_MAX;
  const window = Array.from({ length: blocks }, () => data(1, block));

  it('[V191] a stream that is paused keeps one window, and others are read meanwhile', () => {
    const peer = new Http2Peer().begin();
    peer.onOpen = (stream) => {
      if (stream.id === 1) stream.pause();
    };
    peer.receive(headers(1), headers(3), ...window);
    expect(peer.frames()).toEqual([]);
    for (let read = 0; read < 100; read++) peer.receive(data(3, block));
    const updates = peer.frames().filter(({ type }) => type === FRAME.windowUpdate);
    expect(new Set(updates.map(({ streamId }) => streamId))).toEqual(new Set([0, 3]));
    peer.receive(data(1, 'x'));
    expect(peer.frames()).toMatchObject([
      { type: FRAME.resetStream, streamId: 1, payload: uint32(HTTP2.flowControlError) },
    ]);
  });

  it('[V191] gets its window back once a paused stream goes on', () => {
    const peer = new Http2Peer().begin();
    peer.onOpen = (stream) => stream.pause();
    peer.receive(headers(1), ...window);
    peer.stream(1).resume();
    const returned = peer.frames().map(({ payload }) => payload.readUInt32BE(0));
    expect(returned.reduce((sum, bytes) => sum + bytes, 0)).toBeGreaterThan(
      STREAM_WINDOW_BYTES / 2,
    );
    expect(peer.calls[1]).toHaveLength('1 data '.length + STREAM_WINDOW_BYTES);
  });

  it('[B242] is announced, and a body of half of it comes without a further frame to the peer', () => {
    const peer = new Http2Peer();
    const [announced] = peer.frames().filter(({ type }) => type === FRAME.settings);
    const at = announced?.payload.indexOf(Buffer.of(0, WINDOW_SETTING)) ?? -1;
    expect(announced?.payload.readUInt32BE(at + 2)).toBe(STREAM_WINDOW_BYTES);
    peer.begin();
    peer.receive(headers(1), ...window.slice(0, blocks / 2 - 1));
    expect(peer.frames()).toEqual([]);
    peer.receive(...window.slice(0, 1));
    expect(peer.frames()).toMatchObject([
      { type: FRAME.windowUpdate, streamId: 1, payload: uint32(STREAM_WINDOW_BYTES / 2) },
    ]);
  });

  it('[V191] is returned where it is padding only', () => {
    const peer = new Http2Peer().begin();
    const padded = frame(
      FRAME.data,
      FLAG.padded,
      1,
      Buffer.concat([Buffer.of(255), block.subarray(0, 255)]),
    );
    peer.receive(headers(1));
    for (let read = 0; read < 1000; read++) peer.receive(padded);
    expect(peer.errors).toEqual([]);
    expect(peer.frames().every(({ type }) => type === FRAME.windowUpdate)).toBe(true);
  });
});
