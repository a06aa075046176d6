import { frame } from '../../../bench/support/http2-frame.ts';
import { Http2Connection } from '../../../src/extproc/http2/connection.ts';
import { FLAG, FRAME, PREFACE } from '../../../src/extproc/http2/frames.ts';
import { encodeHeaders } from '../../../src/extproc/http2/hpack/header-encoder.ts';
import type { Http2Stream } from '../../../src/extproc/http2/stream.ts';
import {
  data,
  FakeTransport,
  type Frame,
  framesOf,
  headers,
  REQUEST,
  reset,
  settings,
  uint32,
  windowUpdate,
} from '../../support/session/http2-peer.ts';
import { type FuzzTarget, promise } from '../target.ts';

const STREAMS_MAX = 20;
const FRAME_BYTES_MAX = 16 * 1024;
const HEAD = encodeHeaders([[':status', '200']]);
const BEGIN = Buffer.concat([PREFACE, settings()]);
const PADDED = Buffer.concat([Buffer.of(2), Buffer.from('text'), Buffer.alloc(2)]);

/** A connection whose streams send back what they get, and pause and end as bytes of it say. */
class Echo {
  readonly transport = new FakeTransport();
  readonly errors: number[] = [];
  readonly connection: Http2Connection;
  opened = 0;
  closed = 0;
  ended = 0;
  bytes = 0;

  constructor() {
    this.connection = new Http2Connection({
      transport: this.transport,
      streamsMax: STREAMS_MAX,
      onError: ({ code }) => void this.errors.push(code),
      onStream: (stream) => this.#serve(stream),
    });
  }

  #serve(
    stream: Http2Stream,
  ): ReturnType<ConstructorParameters<typeof Http2Connection>[0]['onStream']> {
    this.opened += 1;
    let over = false;
    let ended = false;
    const open = (what: string): void =>
      promise(!over && !ended, () => `${what} after the end of stream ${stream.id}`);
    stream.respond(HEAD);
    return {
      data: (piece) => {
        open('data');
        this.bytes += piece.length;
        stream.send([Buffer.from(piece)], () => undefined);
        if (piece.includes('pause')) stream.pause();
        if (piece.includes('resume')) this.transport.afterTurn(() => stream.resume());
        if (piece.includes('reset')) stream.reset(8);
        return false;
      },
      ended: () => {
        open('an end');
        ended = true;
        this.ended += 1;
        stream.end(HEAD);
      },
      closed: () => {
        promise(!over, () => `stream ${stream.id} closed twice`);
        over = true;
        this.closed += 1;
      },
    };
  }

  receive(bytes: Uint8Array): void {
    const read = Buffer.from(bytes);
    if (!this.connection.receive(read)) read.fill(0xaa);
    this.transport.turn();
  }
}

/** Frames of a server that any client can read. */
function checkSent(bytes: Buffer): readonly Frame[] {
  const frames = framesOf(bytes);
  for (const { type, payload } of frames) {
    promise(type <= FRAME.continuation, () => `a frame of type ${type} is sent`);
    promise(payload.length <= FRAME_BYTES_MAX, () => `a frame of ${payload.length} bytes is sent`);
  }
  return frames;
}

/**
 * The first byte says where the bytes are cut into reads, and whether the peer blocks. Whatever
 * comes, each stream that opens closes once, nothing follows its end, and a connection that breaks
 * the rules ends with GOAWAY.
 */
export const http2: FuzzTarget = {
  name: 'http2',
  inputBytesMax: 1000,
  seeds: [
    [settings([4, 10]), headers(1), data(1, 'hello', true), windowUpdate(1, 70_000)],
    [headers(1), headers(3), data(1, 'pause'), data(3, 'x'), data(1, 'y', true), reset(3)],
    [frame(FRAME.headers, 0, 1, REQUEST), frame(FRAME.continuation, FLAG.endHeaders, 1)],
    [headers(1), frame(FRAME.data, FLAG.padded | FLAG.endStream, 1, PADDED)],
    [frame(FRAME.ping, 0, 0, Buffer.alloc(8)), frame(FRAME.priority, 0, 3, Buffer.alloc(5))],
    [windowUpdate(0, 1000), headers(1, true), settings([4, 0], [1, 0]), settings([5, 20_000])],
    [headers(1), data(1, 'pause'), data(1, 'kept'), data(1, 'resume'), headers(1, true)],
    [headers(1), data(1, 'reset'), data(1, 'late'), frame(FRAME.goAway, 0, 0, Buffer.alloc(8))],
  ].map((frames, at) => Buffer.concat([Buffer.of(17 * at), ...frames])),
  words: [
    headers(5),
    headers(7, true),
    data(1, 'pause'),
    data(1, 'resume'),
    data(3, 'reset'),
    reset(1),
    windowUpdate(1, 2 ** 31 - 1),
    settings([4, 2 ** 31 - 1]),
    uint32(0),
    frame(FRAME.continuation, FLAG.endHeaders, 1, REQUEST),
  ].map((bytes) => bytes.toString('latin1')),
  run: (input) => {
    const way = input[0] ?? 0;
    const step = 1 + ((7 * way) % 251);
    const echo = new Echo();
    echo.transport.blocked = way % 5 === 0;
    echo.transport.idle = way % 3 !== 0;
    echo.receive(BEGIN);
    for (let at = 1; at < input.length; at += step) echo.receive(input.subarray(at, at + step));
    echo.transport.blocked = false;
    echo.transport.idle = true;
    echo.connection.drained();
    echo.transport.turn();
    echo.transport.leave();
    const sent = checkSent(echo.transport.take()).map(({ type }) => type);
    const [error] = echo.errors;
    promise(echo.errors.length <= 1, () => `it ended ${echo.errors.length} times`);
    promise((error === undefined) === !sent.includes(FRAME.goAway), () => 'an end without GOAWAY');
    promise(echo.bytes <= input.length, () => `${echo.bytes} bytes from ${input.length}`);
    echo.connection.closed();
    echo.transport.turn();
    const { opened, closed, ended } = echo;
    promise(opened === closed, () => `${opened} streams opened, ${closed} closed`);
    return `${error} ${Math.min(4, opened)} ${Math.min(4, ended)} ${[...new Set(sent)].join()}`;
  },
};
