import { ConnectionError, HTTP2 } from './errors.ts';
import { withoutPadding } from './frame-reader.ts';
import { FLAG } from './frames.ts';

/** A header block that is complete. */
export interface EncodedHeaders {
  readonly streamId: number;
  readonly bytes: Uint8Array;
  /** The stream ends with it. */
  readonly last: boolean;
}

/** Frames of one block; a peer with sane headers needs two. */
const CONTINUATIONS_MAX = 16;
/** The most bytes of one block, as it is sent. */
const BLOCK_BYTES_MAX = 64 * 1024;

/** Puts header blocks together that come in several frames. */
export class HeaderBlocks {
  #streamId = 0;
  #last = false;
  #parts: Buffer[] = [];
  #bytes = 0;

  /** The stream whose block goes on; then no other frame is allowed. 0 for none. */
  get open(): number {
    return this.#streamId;
  }

  /** A HEADERS frame. Returns the block if it is complete. Throws ConnectionError. */
  begin(streamId: number, flags: number, payload: Buffer): EncodedHeaders | undefined {
    const block = withoutPriority(withoutPadding(payload, flags), flags, streamId);
    const last = (flags & FLAG.endStream) !== 0;
    if ((flags & FLAG.endHeaders) !== 0) return { streamId, bytes: block, last };
    this.#streamId = streamId;
    this.#last = last;
    this.#parts = [Buffer.from(block)];
    this.#bytes = block.length;
    return undefined;
  }

  /** A CONTINUATION frame. Returns the block if it is complete. Throws ConnectionError. */
  goOn(streamId: number, flags: number, payload: Buffer): EncodedHeaders | undefined {
    if (streamId !== this.#streamId || streamId === 0) {
      throw new ConnectionError(HTTP2.protocolError, 'a CONTINUATION without its HEADERS');
    }
    this.#parts.push(Buffer.from(payload));
    this.#bytes += payload.length;
    if (this.#bytes > BLOCK_BYTES_MAX || this.#parts.length > CONTINUATIONS_MAX) {
      const message = `headers of more than ${BLOCK_BYTES_MAX} bytes or ${CONTINUATIONS_MAX} frames`;
      throw new ConnectionError(HTTP2.enhanceYourCalm, message);
    }
    if ((flags & FLAG.endHeaders) === 0) return undefined;
    const bytes = Buffer.concat(this.#parts);
    this.#streamId = 0;
    this.#parts = [];
    return { streamId, bytes, last: this.#last };
  }
}

/** Stream dependency and weight, which HTTP/2 no longer uses (RFC 9113, section 5.3). */
const PRIORITY_BYTES = 5;

function withoutPriority(payload: Buffer, flags: number, streamId: number): Buffer {
  if ((flags & FLAG.priority) === 0) return payload;
  if (payload.length < PRIORITY_BYTES) {
    throw new ConnectionError(HTTP2.frameSizeError, 'HEADERS without the whole priority');
  }
  checkDependency(payload, streamId);
  return payload.subarray(PRIORITY_BYTES);
}

/** Throws ConnectionError for a stream that depends on itself. */
export function checkDependency(payload: Buffer, streamId: number): void {
  if ((payload.readUInt32BE(0) & 0x7fff_ffff) !== streamId) return;
  throw new ConnectionError(HTTP2.protocolError, 'a stream depends on itself');
}
