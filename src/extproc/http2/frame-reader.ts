import { ConnectionError, HTTP2 } from './errors.ts';
import { FLAG, FRAME, FRAME_BYTES_MAX, HEAD_BYTES } from './frames.ts';

/** Gets the frames of a connection. What it gets is a view, valid until it returns. */
export interface FrameSink {
  /** A part of the payload of DATA frames; `last` where the stream ends with it. */
  data(streamId: number, part: Buffer, flowBytes: number, last: boolean): void;
  /** A whole frame of any other type. */
  frame(type: number, flags: number, streamId: number, payload: Buffer): void;
}

const NO_BYTES: Buffer = Buffer.alloc(0);

/**
 * Cuts the bytes of a connection into frames. DATA is handed on as it comes, without a copy; of any
 * other frame the beginning is kept until the rest has come, 16 KB at most.
 */
export class FrameReader {
  readonly #sink: FrameSink;
  /** The beginning of a frame, from its head on. */
  #kept = NO_BYTES;
  /** What is left of a DATA frame. */
  #dataLeft = 0;
  #dataStream = 0;
  #dataLast = false;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** Throws ConnectionError for a frame that is too long, and what the sink throws. */
  push(bytes: Buffer): void {
    let at = this.#kept.length > 0 ? this.#completeKept(bytes) : 0;
    while (at < bytes.length) {
      const next = this.#dataLeft > 0 ? this.#dataAt(bytes, at) : this.#frameAt(bytes, at);
      if (next === at) {
        // A copy: the rest of a read would be kept in memory with it.
        this.#kept = Buffer.from(bytes.subarray(at));
        return;
      }
      at = next;
    }
  }

  /** Returns where the next frame or part begins; `at` where the frame is not complete. */
  #frameAt(bytes: Buffer, at: number): number {
    const payloadAt = at + HEAD_BYTES;
    if (payloadAt > bytes.length) return at;
    const length = bytes.readUIntBE(at, 3);
    const type = bytes[at + 3] as number;
    const flags = bytes[at + 4] as number;
    const streamId = bytes.readUInt32BE(at + 5) & 0x7fff_ffff;
    if (length > FRAME_BYTES_MAX) {
      const message = `a frame of ${length} bytes; at most ${FRAME_BYTES_MAX} are allowed`;
      throw new ConnectionError(HTTP2.frameSizeError, message);
    }
    if (type === FRAME.data && (flags & FLAG.padded) === 0) {
      this.#beginData(streamId, length, (flags & FLAG.endStream) !== 0);
      return payloadAt;
    }
    const end = payloadAt + length;
    if (end > bytes.length) return at;
    const payload = bytes.subarray(payloadAt, end);
    if (type === FRAME.data) this.#padded(streamId, flags, payload);
    else this.#sink.frame(type, flags, streamId, payload);
    return end;
  }

  #beginData(streamId: number, length: number, last: boolean): void {
    this.#dataStream = streamId;
    this.#dataLeft = length;
    this.#dataLast = last;
    // No part follows that would say so.
    if (length === 0) this.#sink.data(streamId, NO_BYTES, 0, last);
  }

  #dataAt(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#dataLeft);
    this.#dataLeft -= end - at;
    const last = this.#dataLast && this.#dataLeft === 0;
    this.#sink.data(this.#dataStream, bytes.subarray(at, end), end - at, last);
    return end;
  }

  #padded(streamId: number, flags: number, payload: Buffer): void {
    const data = withoutPadding(payload, flags);
    this.#sink.data(streamId, data, payload.length, (flags & FLAG.endStream) !== 0);
  }

  /** Completes the kept frame as far as it can, and returns how many of the bytes that took. */
  #completeKept(bytes: Buffer): number {
    let taken = 0;
    for (;;) {
      const kept = this.#kept;
      const missing = wholeBytes(kept) - kept.length;
      const more = Math.min(missing, bytes.length - taken);
      this.#kept = Buffer.concat([kept, bytes.subarray(taken, taken + more)]);
      taken += more;
      if (more < missing) return taken;
      const frame = this.#kept;
      this.#kept = NO_BYTES;
      // With the head alone complete, the frame may say that more is missing.
      if (this.#frameAt(frame, 0) > 0) return taken;
      this.#kept = frame;
    }
  }
}

/** How many bytes a kept beginning needs to go on: its head, then the whole frame. */
function wholeBytes(kept: Buffer): number {
  return kept.length < HEAD_BYTES ? HEAD_BYTES : HEAD_BYTES + kept.readUIntBE(0, 3);
}

/** The payload of a DATA or HEADERS frame without its padding. Throws ConnectionError. */
export function withoutPadding(payload: Buffer, flags: number): Buffer {
  if ((flags & FLAG.padded) === 0) return payload;
  const end = payload.length - (payload[0] ?? payload.length);
  if (end >= 1) return payload.subarray(1, end);
  throw new ConnectionError(HTTP2.protocolError, 'the padding is longer than its frame');
}
