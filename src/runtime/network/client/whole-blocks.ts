import type { Clock } from '../../../framework/runtime.ts';
import { type Rate, TokenBucket } from '../../clock/token-bucket.ts';

/** Length (3 bytes), type, flags, stream (4 bytes): RFC 9113, section 4.1. */
const HEAD_BYTES = 9;
const TYPE_AT = 3;
const FLAGS_AT = 4;
const HEADERS = 1;
const PUSH_PROMISE = 5;
const CONTINUATION = 9;
const END_HEADERS = 4;
/** What Node's HTTP/2 takes: the largest payload, and frames after the first of a block. */
const FRAME_BYTES_MAX = 16_384;
const CONTINUATIONS_MAX = 8;
const BLOCK_BYTES_MAX = 64 * 1024;
/** How an answer of HTTP/1 begins; as a frame it would have 4.7 million bytes. */
const HTTP_1 = 'HTTP/1';
export const ANSWERS_IN_HTTP_1 = 'the server answers in HTTP/1, but gRPC needs HTTP/2';
/**
 * Each costs Node up to 20 µs, however few bytes it has. A thousand requests that wait at once
 * are answered with three frames each at most.
 */
const FRAMES = { perSecond: 20_000, atOnce: 10_000 };

/**
 * The bytes of an HTTP/2 server, by whole frames and whole blocks of headers. Where a session of
 * Node's client fails within a block, its collection ends the process: `Assertion failed:
 * (current_nghttp2_memory_) == (0)`, seen with Node 24.
 */
export class WholeBlocks {
  readonly #perSecond: number;
  readonly #frames: TokenBucket;
  #rest: Buffer = Buffer.alloc(0);

  constructor(clock: Pick<Clock, 'now'>, frames: Rate = FRAMES) {
    this.#perSecond = frames.perSecond;
    this.#frames = new TokenBucket(clock, frames);
  }

  /** Returns what has become whole. Throws for what Node must not see, and for too many frames. */
  take(bytes: Buffer): Buffer {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let at = 0;
    let frames = 0;
    for (let end = unitEnd(all, at); end !== undefined; end = unitEnd(all, at)) {
      frames += 1;
      at = end;
    }
    this.#rest = all.subarray(at);
    if (frames > 0 && !this.#frames.take(frames)) {
      throw new Error(`the server sends more than ${this.#perSecond} HTTP/2 frames a second`);
    }
    return all.subarray(0, at);
  }
}

/** Where the frame or block of headers at `at` ends; undefined where it is not whole. */
function unitEnd(all: Buffer, at: number): number | undefined {
  const type = all[at + TYPE_AT];
  if (type === CONTINUATION)
    throw new Error('the server goes on with headers that it has not begun');
  let end = frameEnd(all, at);
  if (type !== HEADERS && type !== PUSH_PROMISE) return end;
  let begins = at;
  for (let frames = 0; end !== undefined; frames++) {
    if (((all[begins + FLAGS_AT] ?? 0) & END_HEADERS) !== 0) return end;
    if (frames === CONTINUATIONS_MAX || end - at > BLOCK_BYTES_MAX) {
      throw new Error(
        `the server sends headers of over ${CONTINUATIONS_MAX + 1} frames or ${BLOCK_BYTES_MAX} bytes`,
      );
    }
    begins = end;
    const next = all[begins + TYPE_AT];
    if (next !== undefined && next !== CONTINUATION) {
      throw new Error('the server sends another frame within its headers');
    }
    end = frameEnd(all, begins);
  }
  return undefined;
}

function frameEnd(all: Buffer, at: number): number | undefined {
  if (all.length < at + HEAD_BYTES) return undefined;
  const bytes = all.readUIntBE(at, 3);
  if (bytes > FRAME_BYTES_MAX) {
    const isHttp1 = all.toString('latin1', at, at + HTTP_1.length) === HTTP_1;
    throw new Error(
      isHttp1
        ? ANSWERS_IN_HTTP_1
        : `the server sends a frame of HTTP/2 with ${bytes} bytes, over ${FRAME_BYTES_MAX}`,
    );
  }
  const end = at + HEAD_BYTES + bytes;
  return end <= all.length ? end : undefined;
}
