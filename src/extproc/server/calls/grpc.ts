import { encodeHeaders } from '../../http2/hpack/header-encoder.ts';
import type { Http2Stream, StreamHandler } from '../../http2/stream.ts';

/** Status codes of gRPC. */
export const GRPC = {
  ok: 0,
  deadlineExceeded: 4,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
} as const;

/** Serves one call of a method. */
export type Method = (stream: Http2Stream) => StreamHandler;

const CONTENT_TYPE = ['content-type', 'application/grpc+proto'] as const;
const HEAD = encodeHeaders([[':status', '200'], CONTENT_TYPE]);
const OK_TRAILERS = encodeHeaders([['grpc-status', '0']]);
const NOT_GRPC = encodeHeaders([[':status', '415']]);

/** Begins an answer with messages, if it has not begun. */
export function respond(stream: Http2Stream): void {
  if (!stream.headersSent) stream.respond(HEAD);
}

/** Ends a call with a status, after the messages that have been sent. */
export function endCall(stream: Http2Stream, code: number, message: string): void {
  if (stream.headersSent) stream.end(code === GRPC.ok ? OK_TRAILERS : status([], code, message));
  else stream.respondOnly(status([[':status', '200'], CONTENT_TYPE], code, message));
}

/** Serves these methods, `/package.Service/Method`, and refuses all others. */
export function serveMethods(methods: ReadonlyMap<string, Method>): Method {
  return (stream) => {
    const path = stream.headers.get(':path') ?? '';
    const grpc = stream.headers.get('content-type')?.startsWith('application/grpc') === true;
    const method = grpc ? methods.get(path) : undefined;
    if (method !== undefined) return method(stream);
    if (grpc)
      endCall(
        stream,
        GRPC.unimplemented,
        `This server has no method ${path.slice(0, SHOWN_CHARS)}`,
      );
    else stream.respondOnly(NOT_GRPC);
    return REFUSED;
  };
}

/** A message repeats so much of a path: a frame of headers holds 16 KB. */
const SHOWN_CHARS = 200;

const nothing = (): void => undefined;
const REFUSED: StreamHandler = { data: () => false, ended: nothing, closed: nothing };

function status(
  before: readonly (readonly [string, string])[],
  code: number,
  message: string,
): Buffer {
  const text = message === '' ? [] : [['grpc-message', encodeURI(message)] as const];
  return encodeHeaders([...before, ['grpc-status', String(code)], ...text]);
}
