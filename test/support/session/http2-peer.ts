import { frame } from '../../../bench/support/http2-frame.ts';
import { Http2Connection } from '../../../src/extproc/http2/connection.ts';
import type { ConnectionError } from '../../../src/extproc/http2/errors.ts';
import { FLAG, FRAME, HEAD_BYTES, PREFACE } from '../../../src/extproc/http2/frames.ts';
import { encodeHeaders } from '../../../src/extproc/http2/hpack/header-encoder.ts';
import type { Transport } from '../../../src/extproc/http2/output.ts';
import type { Http2Stream } from '../../../src/extproc/http2/stream.ts';

/** A transport without a socket, that blocks and takes what is written as a test says. */
export class FakeTransport implements Transport {
  idle = true;
  blocked = false;
  ended = false;
  writes = 0;
  nowMs = 0;
  readonly #tasks: (() => void)[] = [];
  /** Views of what has been written and has not left. */
  #unsent: Uint8Array[] = [];
  #left: Buffer[] = [];

  write(pieces: readonly Uint8Array[]): void {
    this.writes += 1;
    this.#unsent.push(...pieces);
    if (this.idle) this.leave();
  }

  now(): number {
    return this.nowMs;
  }

  afterTurn(task: () => void): void {
    this.#tasks.push(task);
  }

  end(): void {
    this.ended = true;
  }

  /** Everything that was written leaves, with the bytes that its memory holds now. */
  leave(): void {
    this.#left.push(...this.#unsent.map((piece) => Buffer.from(piece)));
    this.#unsent = [];
  }

  turn(): void {
    for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) task();
  }

  /** The bytes that have left since the last call. */
  take(): Buffer {
    const bytes = Buffer.concat(this.#left);
    this.#left = [];
    return bytes;
  }
}

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function settings(...pairs: readonly (readonly [number, number])[]): Buffer {
  const payload = Buffer.alloc(6 * pairs.length);
  pairs.forEach(([id, value], at) => {
    payload.writeUInt16BE(id, 6 * at);
    payload.writeUInt32BE(value, 6 * at + 2);
  });
  return frame(FRAME.settings, 0, 0, payload);
}

export const REQUEST: Buffer = encodeHeaders([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/'],
]);

export const headers = (streamId: number, last = false): Buffer =>
  frame(FRAME.headers, FLAG.endHeaders | (last ? FLAG.endStream : 0), streamId, REQUEST);

export const data = (streamId: number, payload: Uint8Array | string, last = false): Buffer =>
  frame(FRAME.data, last ? FLAG.endStream : 0, streamId, Buffer.from(payload));

export const windowUpdate = (streamId: number, bytes: number): Buffer =>
  frame(FRAME.windowUpdate, 0, streamId, uint32(bytes));

export const reset = (streamId: number): Buffer => frame(FRAME.resetStream, 0, streamId, uint32(8));

export function framesOf(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + HEAD_BYTES + bytes.readUIntBE(at, 3);
    frames.push({
      type: bytes[at + 3] ?? -1,
      flags: bytes[at + 4] ?? -1,
      streamId: bytes.readUInt32BE(at + 5),
      payload: bytes.subarray(at + HEAD_BYTES, end),
    });
    at = end;
  }
  return frames;
}

/** A server's connection, the client of which is the test. */
export class Http2Peer {
  readonly transport: FakeTransport = new FakeTransport();
  readonly streams: Map<number, Http2Stream> = new Map();
  /** What the handlers got: `1 open`, `1 data hello`, `1 ended`, `1 closed`. */
  readonly calls: string[] = [];
  readonly errors: ConnectionError[] = [];
  readonly connection: Http2Connection;
  onOpen: (stream: Http2Stream) => void = () => undefined;
  onData: (stream: Http2Stream) => void = () => undefined;

  constructor(streamsMax = 100) {
    this.connection = new Http2Connection({
      transport: this.transport,
      streamsMax,
      onError: (error) => this.errors.push(error),
      onStream: (stream) => {
        const { id } = stream;
        this.streams.set(id, stream);
        this.calls.push(`${id} open`);
        this.onOpen(stream);
        return {
          data: (piece) => {
            this.#data(id, piece.toString('latin1'));
            this.onData(stream);
            return false;
          },
          ended: () => this.calls.push(`${id} ended`),
          closed: () => this.calls.push(`${id} closed`),
        };
      },
    });
  }

  /** Preface and settings, and takes what the server begins with. */
  begin(...pairs: readonly (readonly [number, number])[]): this {
    this.receive(PREFACE, settings(...pairs));
    this.frames();
    return this;
  }

  /** All in one read, whose memory is overwritten as soon as it may be. */
  receive(...bytes: readonly Buffer[]): void {
    const read = Buffer.concat(bytes);
    if (!this.connection.receive(read)) read.fill(0xaa);
    this.transport.turn();
  }

  /** The frames that have left since the last call. */
  frames(): Frame[] {
    this.transport.turn();
    return framesOf(this.transport.take());
  }

  stream(id: number): Http2Stream {
    const stream = this.streams.get(id);
    if (stream === undefined) throw new Error(`stream ${id} is not open`);
    return stream;
  }

  /** Pieces that follow each other count as one: where they are cut has no meaning. */
  #data(id: number, text: string): void {
    const prefix = `${id} data `;
    const last = this.calls.at(-1);
    if (last?.startsWith(prefix)) this.calls[this.calls.length - 1] = last + text;
    else this.calls.push(prefix + text);
  }
}

/** The bytes of DATA frames by stream. */
export function bodyOf(frames: readonly Frame[], streamId: number): Buffer {
  const own = frames.filter((each) => each.type === FRAME.data && each.streamId === streamId);
  return Buffer.concat(own.map(({ payload }) => payload));
}
