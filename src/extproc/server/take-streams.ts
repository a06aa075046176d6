import type { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Server } from '@grpc/grpc-js';

type OnStream = (
  this: EventEmitter,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  ...rest: unknown[]
) => void;

interface TakenCalls {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly onCall: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;
}

const nothing = (): void => undefined;

/**
 * Takes the calls of one method away from grpc-js, which passes each message through a queue and a
 * promise, and leaves all others to it. Spends nothing on streams that are reset in the same read
 * that opens them: a flood of these costs no call, no session and no account. Call it after the
 * server is bound.
 */
export function takeStreams(server: Server, { path, onCall }: TakenCalls): void {
  // grpc-js does not show its servers; its version is pinned and tests use this.
  const { http2Servers } = server as unknown as {
    readonly http2Servers: ReadonlyMap<EventEmitter, unknown>;
  };
  for (const http2 of http2Servers.keys()) {
    const handlers = http2.listeners('stream') as OnStream[];
    http2.removeAllListeners('stream');
    const onStream: OnStream = (stream, headers, ...rest) => {
      if (stream.closed || stream.destroyed) stream.on('error', nothing);
      else if (headers[':path'] === path && isGrpc(headers)) onCall(stream, headers);
      else for (const handle of handlers) handle.call(http2, stream, headers, ...rest);
    };
    http2.on('stream', onStream);
  }
}

function isGrpc(headers: IncomingHttpHeaders): boolean {
  return headers['content-type']?.startsWith('application/grpc') === true;
}
