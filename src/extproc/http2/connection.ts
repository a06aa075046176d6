import { ConnectionError, HTTP2 } from './errors.ts';
import { FrameReader } from './frame-reader.ts';
import { FLAG, FRAME, PREFACE } from './frames.ts';
import { checkDependency, type EncodedHeaders, HeaderBlocks } from './header-blocks.ts';
import { HeaderDecoder, HpackError } from './hpack/header-decoder.ts';
import type { Transport } from './output.ts';
import { PeerSettings } from './peer-settings.ts';
import { RECEIVE_WINDOW_BYTES, Sender } from './sender.ts';
import { Streams, type StreamsOptions, wrongStream } from './streams.ts';

export interface ConnectionOptions extends StreamsOptions {
  readonly transport: Transport;
  /** The connection ends for what the peer has done. */
  readonly onError?: ((error: ConnectionError) => void) | undefined;
}

/** The peer does not begin as a client of HTTP/2 does. */
export class PrefaceError extends ConnectionError {}

const HEADER_TABLE_BYTES = 4096;
const HEADER_LIST_BYTES_MAX = 64 * 1024;
/** DATA frames without data, one after the other. */
const EMPTY_FRAMES_MAX = 1000;
/**
 * After each, all streams whose window was used up are tried again. Gateways change it a few times
 * at most.
 */
const WINDOW_CHANGES_MAX = 1000;

/** The server's side of an HTTP/2 connection (RFC 9113): bytes in, frames out, without a socket. */
export class Http2Connection {
  readonly #options: ConnectionOptions;
  readonly #settings = new PeerSettings();
  readonly #sender: Sender;
  readonly #streams: Streams;
  readonly #reader: FrameReader;
  readonly #blocks = new HeaderBlocks();
  readonly #decoder = new HeaderDecoder({
    tableBytesMax: HEADER_TABLE_BYTES,
    listBytesMax: HEADER_LIST_BYTES_MAX,
  });
  #prefaceBytes = 0;
  #settled = false;
  #receiveWindow = RECEIVE_WINDOW_BYTES;
  #emptyFrames = 0;
  #windowChanges = 0;
  #reads = 0;
  /** Whether more can be sent than before this read. */
  #widened = false;
  #over = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#sender = new Sender(options.transport, this.#settings, (stream, ended) => {
      this.#streams.forget(stream, ended);
      this.#endIfUnused();
    });
    this.#streams = new Streams(options, this.#sender, this.#settings);
    this.#reader = new FrameReader({
      data: (streamId, part, flowBytes, last) => this.#data(streamId, part, flowBytes, last),
      frame: (type, flags, streamId, payload) => this.#frame(type, flags, streamId, payload),
    });
    this.#sender.begin({
      streamsMax: options.streamsMax,
      headerListBytesMax: HEADER_LIST_BYTES_MAX,
    });
  }

  /** How often bytes have come: a sign of life. */
  get reads(): number {
    return this.#reads;
  }

  /** Requests that are open. */
  get openStreams(): number {
    return this.#streams.size;
  }

  /** Whether a request has ever come. */
  get isUsed(): boolean {
    return this.#streams.lastId > 0;
  }

  /**
   * The peer has sent these bytes. Returns whether they are used after the call, and must not
   * change.
   */
  receive(bytes: Buffer): boolean {
    if (this.#over) return false;
    this.#reads += 1;
    this.#sender.beginRead();
    try {
      const rest = this.#prefaceBytes < PREFACE.length ? this.#preface(bytes) : bytes;
      this.#reader.push(rest);
      this.#streams.readOver();
      if (this.#widened) this.#sender.pump();
      this.#widened = false;
      this.#sender.checkControlFrames();
    } catch (error) {
      this.#fail(connectionError(error));
    } finally {
      this.#sender.endRead();
    }
    return this.#sender.readKept;
  }

  /** The transport has taken what blocked it. */
  drained(): void {
    if (!this.#over) this.#sender.drained();
  }

  /** Asks the peer for a sign of life. */
  ping(): void {
    if (!this.#over) this.#sender.ping();
  }

  /** Takes no further stream, and ends the connection once those that are open have closed. */
  goAway(): void {
    if (this.#over || this.#streams.closing) return;
    this.#streams.closing = true;
    this.#sender.goAway(this.#streams.lastId, HTTP2.noError, '');
    this.#endIfUnused();
  }

  /** The transport is gone: closes all streams. */
  closed(): void {
    this.#over = true;
    this.#streams.closeAll();
    this.#sender.closed();
  }

  /** Returns what follows the preface. */
  #preface(bytes: Buffer): Buffer {
    const taken = Math.min(bytes.length, PREFACE.length - this.#prefaceBytes);
    const expected = PREFACE.subarray(this.#prefaceBytes, this.#prefaceBytes + taken);
    if (!bytes.subarray(0, taken).equals(expected)) {
      throw new PrefaceError(HTTP2.protocolError, 'the client does not speak HTTP/2');
    }
    this.#prefaceBytes += taken;
    return bytes.subarray(taken);
  }

  #data(streamId: number, part: Buffer, flowBytes: number, last: boolean): void {
    this.#checkOrder(FRAME.data, streamId);
    this.#receiveWindow -= flowBytes;
    if (this.#receiveWindow < 0) {
      throw new ConnectionError(HTTP2.flowControlError, 'more DATA than the connection takes');
    }
    // What a stream keeps is bounded by its own window: others must not wait for it.
    if (this.#receiveWindow < RECEIVE_WINDOW_BYTES / 2) {
      this.#sender.sendWindow(0, RECEIVE_WINDOW_BYTES - this.#receiveWindow);
      this.#receiveWindow = RECEIVE_WINDOW_BYTES;
    }
    this.#emptyFrames = flowBytes === 0 && !last ? this.#emptyFrames + 1 : 0;
    if (this.#emptyFrames > EMPTY_FRAMES_MAX) {
      throw new ConnectionError(HTTP2.enhanceYourCalm, 'too many DATA frames without data');
    }
    this.#streams.data(streamId, part, flowBytes, last);
  }

  #frame(type: number, flags: number, streamId: number, payload: Buffer): void {
    this.#checkOrder(type, streamId);
    switch (type) {
      case FRAME.headers:
        return this.#headers(this.#blocks.begin(streamId, flags, payload));
      case FRAME.continuation:
        return this.#headers(this.#blocks.goOn(streamId, flags, payload));
      case FRAME.resetStream:
        expectBytes(type, payload, 4);
        return this.#streams.reset(streamId);
      case FRAME.windowUpdate:
        return this.#windowUpdate(streamId, payload);
      case FRAME.priority:
        if (streamId === 0) throw wrongStream(type);
        expectBytes(type, payload, 5);
        return checkDependency(payload, streamId);
      case FRAME.pushPromise:
        throw new ConnectionError(HTTP2.protocolError, 'a client must not push');
      default:
        if (streamId === 0) this.#connectionFrame(type, flags, payload);
        // A type that is not known is ignored, as the RFC demands.
        else if (type <= FRAME.continuation) throw wrongStream(type);
    }
  }

  /** A frame that is not about one stream. */
  #connectionFrame(type: number, flags: number, payload: Buffer): void {
    if (type === FRAME.settings) {
      if ((flags & FLAG.ack) === 0) this.#readSettings(payload);
      else expectBytes(type, payload, 0);
    } else if (type === FRAME.ping) {
      expectBytes(type, payload, 8);
      if ((flags & FLAG.ack) === 0) this.#sender.pong(payload);
    }
  }

  /** A block is not interrupted, and settings come first. Throws ConnectionError. */
  #checkOrder(type: number, streamId: number): void {
    if (!this.#settled && type !== FRAME.settings) {
      throw new ConnectionError(HTTP2.protocolError, 'SETTINGS must come first');
    }
    const { open } = this.#blocks;
    if (open === 0 || (type === FRAME.continuation && streamId === open)) return;
    throw new ConnectionError(HTTP2.protocolError, `a frame within the headers of stream ${open}`);
  }

  /** Undefined for a block that is not complete. Each is decoded: later ones refer to it. */
  #headers(block: EncodedHeaders | undefined): void {
    if (block === undefined) return;
    const trailers = this.#streams.isOpen(block.streamId);
    this.#streams.headers(block, this.#decoder.decode(block.bytes, trailers ? 'trailers' : 'head'));
  }

  #windowUpdate(streamId: number, payload: Buffer): void {
    expectBytes(FRAME.windowUpdate, payload, 4);
    const bytes = payload.readUInt32BE(0) & 0x7fff_ffff;
    if (streamId === 0) this.#sender.widen(bytes);
    else this.#streams.widen(streamId, bytes);
    this.#widened = true;
  }

  #readSettings(payload: Buffer): void {
    this.#settled = true;
    const before = this.#settings.windowBytes;
    this.#settings.read(payload);
    this.#sender.acknowledgeSettings();
    const more = this.#settings.windowBytes - before;
    if (more === 0) return;
    this.#windowChanges += 1;
    if (this.#windowChanges > WINDOW_CHANGES_MAX) {
      throw new ConnectionError(
        HTTP2.enhanceYourCalm,
        'too many changes of the window by SETTINGS',
      );
    }
    if (more < 0) return;
    this.#streams.checkWindows();
    this.#sender.waitAgain();
    this.#widened = true;
  }

  #endIfUnused(): void {
    if (this.#streams.closing && this.#streams.size === 0) this.#sender.end();
  }

  #fail(error: ConnectionError): void {
    this.#over = true;
    this.#sender.goAway(this.#streams.lastId, error.code, error.message);
    this.#sender.end();
    this.#streams.closeAll();
    this.#options.onError?.(error);
  }
}

/** Throws what is not the peer's fault. */
function connectionError(error: unknown): ConnectionError {
  if (error instanceof ConnectionError) return error;
  if (error instanceof HpackError)
    return new ConnectionError(HTTP2.compressionError, error.message);
  throw error;
}

function expectBytes(type: number, payload: Buffer, bytes: number): void {
  if (payload.length === bytes) return;
  const message = `a frame of type ${type} with ${payload.length} bytes in place of ${bytes}`;
  throw new ConnectionError(HTTP2.frameSizeError, message);
}
