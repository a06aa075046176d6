import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { gunzipSync, inflateSync } from 'node:zlib';
import type { Clock, Timer } from '../../framework/runtime.ts';
import { framesOf } from './answer-frames.ts';
import type { Answer, AnswerStream } from './answer-writer.ts';
import { FramingError } from './message-reader.ts';

// HTTP/2's error code, and gRPC's statuses.
const CANCEL = 8;
export const GRPC = { ok: 0, deadlineExceeded: 4, unimplemented: 12, internal: 13 } as const;

const HEAD = { ':status': 200, 'content-type': 'application/grpc+proto' } as const;

/** The server's side of one call of Process, on its HTTP/2 stream. */
export class ProcessCall implements AnswerStream {
  readonly #stream: ServerHttp2Stream;
  readonly #sentBytesMax: number;
  #status: Record<string, string> | undefined;

  constructor(stream: ServerHttp2Stream, sentBytesMax: number) {
    this.#stream = stream;
    this.#sentBytesMax = sentBytesMax;
  }

  /** Nothing can be sent any more. */
  get cancelled(): boolean {
    return this.#stream.destroyed || this.#stream.closed || this.#status !== undefined;
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
      this.#write(framesOf(answers, this.#sentBytesMax), onSent);
    } catch (error) {
      if (!(error instanceof FramingError)) throw error;
      this.fail(error.status, error.message);
    }
  }

  #write(frames: readonly Uint8Array[], onSent: () => void): void {
    const stream = this.#stream;
    if (!stream.headersSent) stream.respond({ ...HEAD }, { waitForTrailers: true });
    const last = frames.length - 1;
    if (last > 0) stream.cork();
    for (let index = 0; index < last; index++) stream.write(frames[index]);
    stream.write(frames[last], (error) => {
      if (!error) onSent();
    });
    if (last > 0) stream.uncork();
  }

  end(): void {
    this.#end(GRPC.ok, '');
  }

  /** Ends the call with a status other than OK; answers that have not left may be lost. */
  fail(status: number, message: string): void {
    this.#end(status, message);
  }

  reset(): void {
    this.#stream.close(CANCEL);
  }

  #end(code: number, message: string): void {
    if (this.cancelled) return;
    const stream = this.#stream;
    const status = {
      'grpc-status': String(code),
      ...(message !== '' && { 'grpc-message': encodeURI(message) }),
    };
    this.#status = status;
    if (!stream.headersSent) {
      stream.respond({ ...HEAD, ...status }, { endStream: true });
      return;
    }
    stream.once('wantTrailers', () => stream.sendTrailers(status));
    stream.end();
  }
}

/** Throws FramingError for an encoding that is not known, bytes that do not have it, and too many. */
export function decompressed(
  message: Buffer,
  encoding: string | undefined,
  messageBytesMax: number,
): Buffer {
  const options = { maxOutputLength: messageBytesMax };
  try {
    if (encoding === 'gzip') return gunzipSync(message, options);
    if (encoding === 'deflate') return inflateSync(message, options);
  } catch (error) {
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
  headers: IncomingHttpHeaders,
  clock: Clock,
  expired: () => void,
): Timer | undefined {
  const given = headers['grpc-timeout'];
  if (given === undefined) return undefined;
  const [, count, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(String(given)) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? 0);
  return clock.setTimer(Math.min(ms || 0, TIMER_MS_MAX), expired);
}
