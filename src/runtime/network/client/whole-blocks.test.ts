import { describe, expect, it } from 'vitest';
import {
  A_HEADER,
  frame,
  GRPC_HEADERS,
} from '../../../../test/support/servers/raw-http2-server.ts';
import { SimulatedClock } from '../../clock/simulated-clock.ts';
import { WholeBlocks } from './whole-blocks.ts';

const END_HEADERS = 4;
const settings = frame(4, 0, 0);
const begun = frame(1, 0, 1, GRPC_HEADERS);
const more = frame(9, 0, 1, A_HEADER);
const last = frame(9, END_HEADERS, 1, A_HEADER);
const data = frame(0, 0, 1, Buffer.alloc(1000, 7));

describe('what a gRPC server sends', () => {
  it('[V454] passes as it is, cut anywhere, by whole frames and whole blocks of headers', () => {
    const sent = Buffer.concat([settings, begun, more, last, data, settings]);
    for (const bytes of [1, 2, 7, 100, sent.length]) {
      const blocks = new WholeBlocks(new SimulatedClock());
      const passed: Buffer[] = [];
      for (let at = 0; at < sent.length; at += bytes) {
        passed.push(blocks.take(sent.subarray(at, at + bytes)));
      }
      expect(Buffer.concat(passed)).toEqual(sent);
      const ends = [settings, begun, more, last, data].map(
        (_, n, all) => Buffer.concat(all.slice(0, n + 1)).length,
      );
      const whole = new Set([ends[0], ends[3], ends[4], sent.length, 0]);
      let at = 0;
      for (const piece of passed) {
        at += piece.length;
        expect(whole).toContain(at);
      }
    }
  });

  it('[V454] is refused where a block of headers cannot become whole', () => {
    const take = (...frames: Buffer[]) => {
      const blocks = new WholeBlocks(new SimulatedClock());
      return () => frames.map((each) => blocks.take(each).length);
    };
    const large = frame(9, 0, 1, Buffer.alloc(16_384));
    expect(take(begun, ...Array<Buffer>(7).fill(more), last)).not.toThrow();
    expect(take(begun, ...Array<Buffer>(8).fill(more))).toThrow('headers of over 9 frames');
    expect(take(begun, ...Array<Buffer>(5).fill(large))).toThrow('or 65536 bytes');
    expect(take(begun, data)).toThrow('another frame within its headers');
    expect(take(settings, more)).toThrow('goes on with headers that it has not begun');
    expect(take(Buffer.from('HTTP/1.1 400 Bad Request'))).toThrow('answers in HTTP/1');
    expect(take(frame(0, 0, 1, Buffer.alloc(16_385)))).toThrow(
      'a frame of HTTP/2 with 16385 bytes',
    );
  });

  it('[V455] is read with at most 20,000 frames a second, 10,000 at once', () => {
    const clock = new SimulatedClock();
    const blocks = new WholeBlocks(clock);
    const tiny = Buffer.concat(Array<Buffer>(5000).fill(frame(0, 0, 1, Buffer.alloc(1))));
    for (let seconds = 0; seconds < 3; seconds++) {
      for (let round = 0; round < 4; round++) {
        expect(blocks.take(tiny)).toHaveLength(tiny.length);
        clock.advanceTo(clock.now() + 250);
      }
    }
    blocks.take(tiny);
    blocks.take(tiny);
    expect(() => blocks.take(tiny)).toThrow('more than 20000 HTTP/2 frames a second');
  });
});
