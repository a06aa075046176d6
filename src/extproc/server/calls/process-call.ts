import type { Clock, Timer } from '../../../framework/runtime.ts';
import { loadZlib } from '../../../runtime/modules/node-modules.ts';
import { HTTP2 } from '../../http2/errors.ts';
import type { Http2Stream } from '../../http2/stream.ts';
import { framesOf } from './answer-frames.ts';
import type { Answer, AnswerStream } from './answer-writer.ts';
import { endCall, GRPC, respond } from './grpc.ts';
import { FramingError } from './message-reader.ts';

/** The server's side of one call of Process, on its HTTP/2 stream. */
export class ProcessCall implements AnswerStream {
  readonly #stream: Http2Stream;
  readonly #sentBytesMax: number;
  #ended = false;

  constructor(stream: Http2Stream, sentBytesMax: number) {
    this.#stream = stream;
    this.#sentBytesMax = sentBytesMax;
  }

  /** Nothing can be sent any more. */
  get cancelled(): boolean {
    return this.#ended || this.#stream.closed;
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  /** Calls back once the answers have left; never if the stream breaks. */
  send(answers: readonly Answer[], onSent: () => void): void {
    if (this.cancelled) return;
    try {
      const frames = framesOf(answers, this.#sentBytesMax);
      respond(this.#stream);
      this.#stream.send(frames, onSent);
    } catch (error) {
      if (!(error instanceof FramingError)) throw error;
      this.fail(error.status, error.message);
    }
  }

  afterTurn(task: () => void): void {
    this.#stream.afterTurn(task);
  }

  afterWritten(task: () => void): void {
    this.#stream.afterWritten(task);
  }

  end(): void {
    this.#end(GRPC.ok, '');
  }

  /** Ends the call with a status other than OK; answers that have not left may be lost. */
  fail(status: number, message: string): void {
    this.#end(status, message);
  }

  reset(): void {
    this.#stream.reset(HTTP2.cancel);
  }

  #end(code: number, message: string): void {
    if (this.cancelled) return;
    this.#ended = true;
    endCall(this.#stream, code, message);
  }
}

/**
 * What a message may become: more than text gives, and so little that the time follows from its
 * bytes.
 */
const DECOMPRESSED_BYTES_MIN = 64 * 1024;
const COMPRESSION_MAX = 32;

/**
 * Throws FramingError for an encoding that is not known, bytes that do not have it, and too many.
 */
export function decompressed(
  message: Buffer,
  encoding: string | undefined,
  messageBytesMax: number,
): Buffer {
  const allowed = DECOMPRESSED_BYTES_MIN + COMPRESSION_MAX * message.length;
  const options = { maxOutputLength: Math.min(messageBytesMax, allowed) };
  try {
    if (encoding === 'gzip') return loadZlib().gunzipSync(message, options);
    if (encoding === 'deflate') return loadZlib().inflateSync(message, options);
  } catch (error) {
    if (error instanceof RangeError) {
      const most = `more than ${options.maxOutputLength} bytes, the most that is taken`;
      throw new FramingError(
        GRPC.resourceExhausted,
        `Received message of ${message.length} compressed bytes that becomes ${most}`,
      );
    }
    throw new FramingError(GRPC.internal, `Failed to decompress message: ${String(error)}`);
  }
  throw new FramingError(
    GRPC.unimplemented,
    `Received message compressed with unsupported encoding "${encoding ?? ''}"`,
  );
}

/** The units of the header `grpc-timeout`. */
const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Calls `expired` when the caller's time is over; undefined if it has no bound. */
export function startDeadline(
  headers: ReadonlyMap<string, string>,
  clock: Clock,
  expired: () => void,
): Timer | undefined {
  const given = headers.get('grpc-timeout');
  if (given === undefined) return undefined;
  const [, count, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(given) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? 0);
  return clock.setTimer(Math.min(ms || 0, TIMER_MS_MAX), expired);
}
