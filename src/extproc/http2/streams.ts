import { InFlightMap } from '../../framework/values/in-flight-map.ts';
import { ConnectionError, HTTP2 } from './errors.ts';
import { FRAME, WINDOW_BYTES_MAX } from './frames.ts';
import type { EncodedHeaders } from './header-blocks.ts';
import type { DecodedHeaders } from './hpack/header-decoder.ts';
import type { PeerSettings } from './peer-settings.ts';
import type { Sender } from './sender.ts';
import { Http2Stream, type StreamEnd, type StreamHandler } from './stream.ts';

export interface StreamsOptions {
  /** A further open stream is refused. */
  readonly streamsMax: number;
  /** A request has come, with its headers. Not called for one that is reset in the same read. */
  readonly onStream: (stream: Http2Stream) => StreamHandler;
}

/** The last streams that were closed here, whose frames may still be on their way. */
const RECENT = 64;

/** The streams of a connection: which frames are allowed on them, and when they open and close. */
export class Streams {
  /** Set where the connection takes no further stream. */
  closing = false;
  readonly #options: StreamsOptions;
  readonly #sender: Sender;
  readonly #settings: PeerSettings;
  readonly #table = new InFlightMap<number, Http2Stream>((id) => id);
  readonly #closedHere = new Int32Array(RECENT);
  #closedHereCount = 0;
  /** No stream has a window that is more above the first one of all. */
  #offsetMax = 0;
  #lastId = 0;
  /** Streams whose handlers are made once the read is over, if they are not reset in it. */
  #unopened: Http2Stream[] = [];
  /** Streams whose peer has sent all, in this read. */
  #ended: Http2Stream[] = [];

  constructor(options: StreamsOptions, sender: Sender, settings: PeerSettings) {
    this.#options = options;
    this.#sender = sender;
    this.#settings = settings;
  }

  get size(): number {
    return this.#table.size;
  }

  /** The last stream that the peer has opened. */
  get lastId(): number {
    return this.#lastId;
  }

  isOpen(streamId: number): boolean {
    return this.#table.get(streamId) !== undefined;
  }

  /** Headers of a request, or its trailers where the stream is open. Throws ConnectionError. */
  headers({ streamId, last }: EncodedHeaders, decoded: DecodedHeaders): void {
    const stream = this.#table.get(streamId);
    if (stream !== undefined) this.#trailers(stream, decoded, last);
    else if (streamId % 2 === 0) throw wrongStream(FRAME.headers);
    else if (streamId > this.#lastId) this.#request(streamId, decoded, last);
    else if (!this.#closedHere.includes(streamId)) {
      const message = `HEADERS for stream ${streamId}, which is closed`;
      throw new ConnectionError(HTTP2.streamClosed, message);
    }
  }

  data(streamId: number, part: Buffer, flowBytes: number, last: boolean): void {
    const stream = this.#known(FRAME.data, streamId);
    if (stream === undefined) this.#lateData(streamId);
    else if (stream.remoteEnded) stream.reset(HTTP2.streamClosed);
    else {
      if (!stream.receive(part, flowBytes)) stream.reset(HTTP2.flowControlError);
      if (last) this.#end(stream);
    }
  }

  reset(streamId: number): void {
    this.#known(FRAME.resetStream, streamId)?.closedByPeer();
  }

  /** The peer takes so many bytes more of one stream. */
  widen(streamId: number, bytes: number): void {
    const stream = this.#known(FRAME.windowUpdate, streamId);
    if (stream === undefined) return;
    if (bytes === 0) stream.reset(HTTP2.protocolError);
    else if (this.#settings.windowBytes + stream.windowOffset + bytes > WINDOW_BYTES_MAX) {
      stream.reset(HTTP2.flowControlError);
    } else {
      stream.widen(bytes);
      this.#offsetMax = Math.max(this.#offsetMax, stream.windowOffset);
    }
  }

  /**
   * The first window of all streams has changed. Throws ConnectionError where one becomes too
   * large.
   */
  checkWindows(): void {
    const offsetMax = WINDOW_BYTES_MAX - this.#settings.windowBytes;
    if (this.#offsetMax <= offsetMax) return;
    // The stream may have closed since.
    this.#offsetMax = 0;
    for (const { windowOffset } of this.#table.values()) {
      this.#offsetMax = Math.max(this.#offsetMax, windowOffset);
    }
    if (this.#offsetMax <= offsetMax) return;
    throw new ConnectionError(HTTP2.flowControlError, 'a window of more than 2^31 - 1 bytes');
  }

  /** The read is over: streams that opened or ended in it and were not reset are handled now. */
  readOver(): void {
    if (this.#unopened.length > 0) {
      for (const stream of this.#unopened) {
        this.#sender.sendIfLong();
        this.#open(stream);
      }
      this.#unopened = [];
    }
    if (this.#ended.length > 0) {
      for (const stream of this.#ended) stream.handleEnd();
      this.#ended = [];
    }
  }

  /** The connection is over. */
  closeAll(): void {
    for (const stream of Array.from(this.#table.values())) stream.closedByPeer();
  }

  forget(stream: Http2Stream, ended: StreamEnd): void {
    this.#table.delete(stream.id);
    // A peer that has ended its side sends nothing late.
    if (ended === 'here' && !stream.remoteEnded) this.#rememberClosed(stream.id);
  }

  #request(streamId: number, { fields, fault }: DecodedHeaders, last: boolean): void {
    this.#lastId = streamId;
    if (this.closing || this.#table.size >= this.#options.streamsMax) {
      this.#refuse(streamId, HTTP2.refusedStream);
    } else if (fault !== undefined) {
      const code = fault === 'malformed' ? HTTP2.protocolError : HTTP2.enhanceYourCalm;
      this.#refuse(streamId, code);
    } else {
      const stream = new Http2Stream(streamId, fields, this.#sender);
      this.#table.set(streamId, stream);
      this.#unopened.push(stream);
      if (last) this.#end(stream);
    }
  }

  #trailers(stream: Http2Stream, { fault }: DecodedHeaders, last: boolean): void {
    if (stream.remoteEnded) stream.reset(HTTP2.streamClosed);
    else if (!last || fault !== undefined) stream.reset(HTTP2.protocolError);
    else this.#end(stream);
  }

  #end(stream: Http2Stream): void {
    stream.remoteEnd();
    this.#ended.push(stream);
  }

  #open(stream: Http2Stream): void {
    if (stream.closed) return;
    const handler = this.#options.onStream(stream);
    if (!stream.closed) stream.open(handler);
    else handler.closed();
  }

  /** Undefined for a stream that has closed. Throws ConnectionError for one that was never open. */
  #known(type: number, streamId: number): Http2Stream | undefined {
    if (streamId > this.#lastId || streamId % 2 === 0) throw wrongStream(type);
    return this.#table.get(streamId);
  }

  /** DATA for a closed stream is right only while the peer cannot know that it has closed. */
  #lateData(streamId: number): void {
    if (!this.#closedHere.includes(streamId)) this.#refuse(streamId, HTTP2.streamClosed);
  }

  #refuse(streamId: number, code: number): void {
    this.#rememberClosed(streamId);
    this.#sender.sendReset(streamId, code);
  }

  #rememberClosed(streamId: number): void {
    this.#closedHere[this.#closedHereCount++ % RECENT] = streamId;
  }
}

/** A frame of this type must not be on its stream. */
export function wrongStream(type: number): ConnectionError {
  return new ConnectionError(HTTP2.protocolError, `a frame of type ${type} on the wrong stream`);
}
