import { HTTP2 } from './errors.ts';
import { STREAM_WINDOW_BYTES } from './frames.ts';
import { UnsentPieces } from './unsent-pieces.ts';

/** By whom a stream was closed. */
export type StreamEnd = 'here' | 'by-peer';

/** Gets what happens on a stream. */
export interface StreamHandler {
  /** A view of what has come. Returns whether its memory is used after the call. */
  data(piece: Buffer): boolean;
  /** A paused stream keeps so many bytes more of what has come, or hands them on where negative. */
  kept?(bytes: number): void;
  /** The peer sends nothing more. */
  ended(): void;
  /** Called once, whatever closes the stream. */
  closed(): void;
}

/** The connection of a stream, as far as the stream uses it. */
export interface StreamConnection {
  /**
   * How much DATA may leave now of one stream, whose window is so much larger than the first one of
   * all streams.
   */
  room(windowOffset: number): number;
  /** `ends`: nothing follows the headers on this stream. */
  sendHeaders(streamId: number, block: Uint8Array, stream: 'open' | 'ends'): void;
  /** `bytes` of the pieces in one frame, from `at` in the first one on. */
  sendData(streamId: number, pieces: readonly Uint8Array[], at: number, bytes: number): void;
  sendReset(streamId: number, code: number): void;
  sendWindow(streamId: number, bytes: number): void;
  /** The memory of the present read is used after it. */
  keepRead(): void;
  /** Runs a task once the present read or turn is over, before what it brought is sent. */
  afterTurn(task: () => void): void;
  /** Runs a task once the transport needs nothing of what was sent so far. */
  afterWritten(task: () => void): void;
  /** The stream has something to send as soon as there is room. */
  wait(stream: Http2Stream): void;
  /** The stream has closed: forgets it, and calls its handler once the turn is over. */
  forget(stream: Http2Stream, ended: StreamEnd): void;
}

/** The peer gets its window again once so much of it is used. */
const RETURNED_BYTES_MIN = STREAM_WINDOW_BYTES / 2;

/** The server's side of one request and its answer. */
export class Http2Stream {
  readonly id: number;
  /** Names are in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  handler: StreamHandler | undefined;
  /** Nothing more can be sent or comes. */
  closed = false;
  /** Whether the peer has ended its side, and whether the handler knows. */
  #remoteEnded = false;
  #endedHandled = false;
  #headersSent = false;
  readonly #connection: StreamConnection;
  /** The window less the first one of all streams, which settings change for all at once. */
  #windowOffset = 0;
  #receiveWindow = STREAM_WINDOW_BYTES;
  /** Bytes that were handed on and are not returned to the peer's window yet. */
  #consumed = 0;
  #paused = false;
  /** What has come while the stream is paused, or has no handler yet. */
  #held: Buffer[] = [];
  /** The first of them that `resume` hands on. */
  #heldAt = 0;
  #waiting: UnsentPieces[] = [];
  #trailers: Uint8Array | undefined;

  constructor(id: number, headers: ReadonlyMap<string, string>, connection: StreamConnection) {
    this.id = id;
    this.headers = headers;
    this.#connection = connection;
  }

  get headersSent(): boolean {
    return this.#headersSent;
  }

  /** Whether the peer may send no more DATA. */
  get remoteEnded(): boolean {
    return this.#remoteEnded;
  }

  /** Hands on what has come in the read that opens it. */
  open(handler: StreamHandler): void {
    this.handler = handler;
    const early = this.#held;
    this.#held = [];
    for (const piece of early) if (!this.closed) this.#take(piece);
  }

  /** Sends the answer's headers, an encoded block. */
  respond(block: Uint8Array): void {
    if (this.closed || this.#headersSent) return;
    this.#headersSent = true;
    this.#connection.sendHeaders(this.id, block, 'open');
  }

  /** Sends an answer that has nothing but these headers, an encoded block. */
  respondOnly(block: Uint8Array): void {
    if (this.closed || this.#headersSent) return;
    this.#headersSent = true;
    this.#sendTrailers(block);
  }

  /**
   * Sends the pieces, which must not change until they have left. Calls `onSent` once the
   * connection has taken all of them; never if the stream closes before.
   */
  send(pieces: readonly Uint8Array[], onSent: () => void): void {
    if (this.closed || this.#trailers !== undefined) return;
    const waiting = new UnsentPieces(pieces, onSent);
    if (this.#waiting.length === 0 && this.#sendOne(waiting, waiting.bytes)) {
      onSent();
      return;
    }
    this.#waiting.push(waiting);
    this.#connection.wait(this);
  }

  /** Runs a task once the present read or turn is over. What it sends leaves with the rest. */
  afterTurn(task: () => void): void {
    this.#connection.afterTurn(task);
  }

  /** Runs a task once nothing of what has been taken is needed any more. */
  afterWritten(task: () => void): void {
    this.#connection.afterWritten(task);
  }

  /** Ends the answer with trailers, an encoded block, after all that waits. */
  end(trailers: Uint8Array): void {
    if (this.closed || this.#trailers !== undefined) return;
    this.#trailers = trailers;
    if (this.#waiting.length === 0) this.#sendTrailers(trailers);
  }

  reset(code: number): void {
    if (this.closed) return;
    this.#connection.sendReset(this.id, code);
    this.#close('here');
  }

  /** Keeps what comes, at most a window, until `resume`. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    while (!this.#paused && !this.closed && this.#heldAt < this.#held.length) {
      const piece = this.#held[this.#heldAt++] as Buffer;
      this.handler?.kept?.(-piece.length);
      this.#handOn(piece);
    }
    this.#held = this.#held.slice(this.#heldAt);
    this.#heldAt = 0;
    if (this.#remoteEnded) this.handleEnd();
  }

  /** DATA has come; `flowBytes` with its padding. False where the peer exceeds its window. */
  receive(piece: Buffer, flowBytes: number): boolean {
    this.#receiveWindow -= flowBytes;
    if (this.#receiveWindow < 0) return false;
    // Padding is not handed on.
    this.#consume(flowBytes - piece.length);
    if (piece.length > 0) this.#take(piece);
    return true;
  }

  /** The peer sends nothing more. Call `handleEnd` once the read is over. */
  remoteEnd(): void {
    this.#remoteEnded = true;
  }

  /** Lets the handler end its side, too, once it has all that has come. */
  handleEnd(): void {
    if (this.#paused || this.#held.length > 0 || this.#endedHandled) return;
    this.#endedHandled = true;
    this.handler?.ended();
  }

  /** The peer has reset the stream, or the connection is gone. */
  closedByPeer(): void {
    if (this.closed) return;
    // Nothing can be sent any more: a proxy that ends a stream and resets it needs no trailers.
    this.closed = true;
    if (this.#remoteEnded) this.handleEnd();
    this.#close('by-peer');
  }

  /** How much larger its window is than the first one of all streams. */
  get windowOffset(): number {
    return this.#windowOffset;
  }

  /** The peer takes so many bytes more of this stream. */
  widen(bytes: number): void {
    this.#windowOffset += bytes;
    if (this.waits) this.#connection.wait(this);
  }

  /** Sends at most so much of what waits, and returns how many bytes it was. */
  pump(bytesMax: number): number {
    let left = bytesMax;
    for (;;) {
      const [waiting] = this.#waiting;
      if (waiting === undefined) break;
      const before = waiting.bytes;
      const done = this.#sendOne(waiting, left);
      left -= before - waiting.bytes;
      if (!done) return bytesMax - left;
      this.#waiting.shift();
      waiting.onSent();
    }
    if (this.#trailers !== undefined && !this.closed) this.#sendTrailers(this.#trailers);
    return bytesMax - left;
  }

  get waits(): boolean {
    return this.#waiting.length > 0;
  }

  /** Sends as much as has room, at most `bytesMax`; true where nothing is left of it. */
  #sendOne(waiting: UnsentPieces, bytesMax: number): boolean {
    let left = bytesMax;
    while (waiting.bytes > 0 && left > 0) {
      const bytes = Math.min(waiting.bytes, left, this.#connection.room(this.#windowOffset));
      if (bytes <= 0) return false;
      this.#connection.sendData(this.id, waiting.pieces, waiting.at, bytes);
      this.#windowOffset -= bytes;
      left -= bytes;
      waiting.sent(bytes);
    }
    return waiting.bytes === 0;
  }

  #take(piece: Buffer): void {
    if (this.handler === undefined) this.#held.push(piece);
    else if (this.#paused || this.#held.length > 0) {
      this.#held.push(piece);
      this.#connection.keepRead();
      this.handler.kept?.(piece.length);
    } else this.#handOn(piece);
  }

  #handOn(piece: Buffer): void {
    if (this.handler?.data(piece) === true) this.#connection.keepRead();
    this.#consume(piece.length);
  }

  /** Returns to the peer's window what is not kept. */
  #consume(bytes: number): void {
    this.#consumed += bytes;
    if (this.#consumed < RETURNED_BYTES_MIN || this.closed || this.#remoteEnded) return;
    this.#connection.sendWindow(this.id, this.#consumed);
    this.#receiveWindow += this.#consumed;
    this.#consumed = 0;
  }

  #sendTrailers(trailers: Uint8Array): void {
    this.#connection.sendHeaders(this.id, trailers, 'ends');
    // What the peer still sends is not needed any more (RFC 9113, section 8.1).
    if (!this.#remoteEnded) this.#connection.sendReset(this.id, HTTP2.noError);
    this.#close('here');
  }

  /** Keeps nothing of the request: the stream itself may stay in the memory for a while. */
  #close(ended: StreamEnd): void {
    this.closed = true;
    this.#held = [];
    this.#waiting = [];
    this.#connection.forget(this, ended);
  }
}
