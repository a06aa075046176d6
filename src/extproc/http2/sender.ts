import type { Millis } from '../../framework/runtime.ts';
import { ConnectionError, HTTP2 } from './errors.ts';
import {
  FIRST_WINDOW_BYTES,
  FLAG,
  FRAME,
  STREAM_WINDOW_BYTES,
  WINDOW_BYTES_MAX,
} from './frames.ts';
import { NO_TABLE } from './hpack/header-encoder.ts';
import { Output, type Transport } from './output.ts';
import { type PeerSettings, SETTING, SETTING_BYTES } from './peer-settings.ts';
import type { Http2Stream, StreamConnection, StreamEnd } from './stream.ts';

/** What all streams of a connection together may send before more is allowed. */
export const RECEIVE_WINDOW_BYTES: number = 2 ** 22;
/** One stream sends so much before another has its turn. */
const SHARE_BYTES = 64 * 1024;
/**
 * What a read brings may wait so long for the rest of it. A read of 64 KB with 50 short requests
 * takes that long, and seconds where the picker gets little CPU.
 */
const READ_MS: Millis = 10;
/** Answers to requests, PING, SETTINGS and wrong frames that a peer may let wait. */
const CONTROL_FRAMES_MAX = 10_000;
const PING_BYTES: Buffer = Buffer.from('pointsmn', 'latin1');

const NO_BYTES: Uint8Array = new Uint8Array(0);

type Forget = (stream: Http2Stream, ended: StreamEnd) => void;

/** Sends the frames of a connection: what a turn brings leaves in one write. */
export class Sender implements StreamConnection {
  /** Whether the memory of the last read is still used. */
  readKept = false;
  readonly #transport: Transport;
  readonly #settings: PeerSettings;
  readonly #forget: Forget;
  readonly #output = new Output();
  /** Streams that have something to send, in the order in which it is their turn. */
  readonly #waiting = new Set<Http2Stream>();
  /** Streams among them whose own window is used up: nothing else makes room for them. */
  readonly #stalled = new Set<Http2Stream>();
  #window: number = FIRST_WINDOW_BYTES;
  #unsentControlFrames = 0;
  /** What is to be done at the end of the turn, before what it brought is sent. */
  #tasks: (() => void)[] = [];
  /** Whether the end of a read or a task of the transport ends the turn. */
  #turnEnds = false;
  #ending = false;
  /** When the present read began, or what it brought was sent last. */
  #sentAt: Millis = 0;
  #headersSent = false;

  constructor(transport: Transport, settings: PeerSettings, forget: Forget) {
    this.#transport = transport;
    this.#settings = settings;
    this.#forget = forget;
  }

  begin(own: { readonly streamsMax: number; readonly headerListBytesMax: number }): void {
    const output = this.#output;
    output.head(FRAME.settings, 0, 0, 3 * SETTING_BYTES);
    output.uint16(SETTING.maxConcurrentStreams);
    output.uint32(Math.min(own.streamsMax, 2 ** 32 - 1));
    output.uint16(SETTING.maxHeaderListSize);
    output.uint32(own.headerListBytesMax);
    output.uint16(SETTING.initialWindowSize);
    output.uint32(STREAM_WINDOW_BYTES);
    this.sendWindow(0, RECEIVE_WINDOW_BYTES - FIRST_WINDOW_BYTES);
  }

  /** Bytes of the peer are read: what they bring is sent by `endRead`. */
  beginRead(): void {
    this.readKept = false;
    this.#sentAt = this.#transport.now();
    this.#turnEnds = true;
  }

  endRead(): void {
    this.#endTurn();
  }

  /**
   * Sends what the read has brought so far, where that took long: it must not wait for the rest.
   */
  sendIfLong(): void {
    const now = this.#transport.now();
    if (now - this.#sentAt < READ_MS) return;
    this.#sentAt = now;
    this.#runTasks();
    this.#output.flush(this.#transport);
  }

  room(windowOffset: number): number {
    if (this.#transport.blocked) return 0;
    const windowBytes = this.#settings.windowBytes + windowOffset;
    return Math.min(windowBytes, this.#window, this.#settings.frameBytesMax);
  }

  sendHeaders(streamId: number, block: Uint8Array, stream: 'open' | 'ends'): void {
    const flags = FLAG.endHeaders | (stream === 'ends' ? FLAG.endStream : 0);
    const before = this.#headersSent ? NO_BYTES : NO_TABLE;
    this.#headersSent = true;
    this.#countUnsent();
    this.#output.head(FRAME.headers, flags, streamId, before.length + block.length);
    this.#output.append(before);
    this.#output.append(block);
    this.#schedule();
  }

  sendData(streamId: number, pieces: readonly Uint8Array[], at: number, bytes: number): void {
    this.#window -= bytes;
    this.#output.head(FRAME.data, 0, streamId, bytes);
    let from = at;
    let left = bytes;
    for (const piece of pieces) {
      if (left === 0) break;
      const part = Math.min(piece.length - from, left);
      this.#output.append(part === piece.length ? piece : piece.subarray(from, from + part));
      left -= part;
      from = 0;
    }
    this.#schedule();
  }

  sendReset(streamId: number, code: number): void {
    this.#control(FRAME.resetStream, 0, streamId, 4);
    this.#output.uint32(code);
  }

  sendWindow(streamId: number, bytes: number): void {
    this.#control(FRAME.windowUpdate, 0, streamId, 4);
    this.#output.uint32(bytes);
  }

  keepRead(): void {
    this.readKept = true;
  }

  acknowledgeSettings(): void {
    this.#control(FRAME.settings, FLAG.ack, 0, 0);
  }

  ping(): void {
    this.#control(FRAME.ping, 0, 0, PING_BYTES.length);
    this.#output.append(PING_BYTES);
  }

  pong(payload: Buffer): void {
    this.#control(FRAME.ping, FLAG.ack, 0, payload.length);
    this.#output.append(payload);
  }

  goAway(lastId: number, code: number, message: string): void {
    const text = Buffer.from(message, 'latin1');
    this.#control(FRAME.goAway, 0, 0, 8 + text.length);
    this.#output.uint32(lastId);
    this.#output.uint32(code);
    this.#output.append(text);
  }

  /** Closes the connection once all has left. */
  end(): void {
    this.#ending = true;
    this.#schedule();
  }

  afterTurn(task: () => void): void {
    this.#tasks.push(task);
    this.#schedule();
  }

  afterWritten(task: () => void): void {
    this.#output.afterWritten(task);
    this.#schedule();
  }

  wait(stream: Http2Stream): void {
    this.#stalled.delete(stream);
    this.#waiting.add(stream);
  }

  /** The first window of all streams has become larger. */
  waitAgain(): void {
    for (const stream of this.#stalled) this.#waiting.add(stream);
    this.#stalled.clear();
  }

  forget(stream: Http2Stream, ended: StreamEnd): void {
    this.#waiting.delete(stream);
    this.#stalled.delete(stream);
    const { handler } = stream;
    stream.handler = undefined;
    if (ended === 'by-peer') handler?.closed();
    else if (handler !== undefined) this.afterTurn(() => handler.closed());
    this.#forget(stream, ended);
  }

  /** The peer takes so many bytes more. Throws ConnectionError. */
  widen(bytes: number): void {
    if (bytes === 0) throw new ConnectionError(HTTP2.protocolError, 'WINDOW_UPDATE of 0 bytes');
    this.#window += bytes;
    if (this.#window <= WINDOW_BYTES_MAX) return;
    throw new ConnectionError(HTTP2.flowControlError, 'a window of more than 2^31 - 1 bytes');
  }

  /** The transport has taken what blocked it. */
  drained(): void {
    this.#output.written(this.#transport);
    this.pump();
  }

  /** The transport is gone. */
  closed(): void {
    this.#output.closed();
  }

  /** Sends what waits as far as there is room, each stream a share at a time. */
  pump(): void {
    if (!this.#transport.blocked) this.#unsentControlFrames = 0;
    // A stream that still waits after its share is added again, at the end.
    for (const stream of this.#waiting) {
      if (this.#transport.blocked || this.#window === 0) return;
      this.#waiting.delete(stream);
      stream.pump(SHARE_BYTES);
      if (!stream.waits) continue;
      const isStalled = this.#settings.windowBytes + stream.windowOffset <= 0;
      (isStalled ? this.#stalled : this.#waiting).add(stream);
    }
  }

  /** Throws ConnectionError for a peer that asks for answers without taking them. */
  checkControlFrames(): void {
    if (!this.#transport.blocked) this.#unsentControlFrames = 0;
    if (this.#unsentControlFrames <= CONTROL_FRAMES_MAX) return;
    throw new ConnectionError(HTTP2.enhanceYourCalm, 'too many frames whose answers are not taken');
  }

  #control(type: number, flags: number, streamId: number, payloadBytes: number): void {
    this.#countUnsent();
    this.#output.head(type, flags, streamId, payloadBytes);
    this.#schedule();
  }

  #countUnsent(): void {
    if (this.#transport.blocked) this.#unsentControlFrames += 1;
  }

  #schedule(): void {
    if (this.#turnEnds) return;
    this.#turnEnds = true;
    this.#transport.afterTurn(this.#endTurn);
  }

  #runTasks(): void {
    // What a task adds is done, too.
    for (const task of this.#tasks) task();
    if (this.#tasks.length > 0) this.#tasks = [];
  }

  readonly #endTurn = (): void => {
    this.#runTasks();
    this.#turnEnds = false;
    this.#output.flush(this.#transport);
    if (this.#ending) this.#transport.end();
  };
}
