import type { EventEmitter } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import type { Server } from '@grpc/grpc-js';

type OnStream = (this: EventEmitter, stream: ServerHttp2Stream, ...rest: unknown[]) => void;

const nothing = (): void => undefined;

/**
 * Spends nothing on streams that are reset in the same read that opens them: a flood of these costs
 * no call, no session and no account. Call it after the server is bound.
 */
export function skipResetStreams(server: Server): void {
  // grpc-js does not show its servers; its version is pinned and tests use this.
  const { http2Servers } = server as unknown as {
    readonly http2Servers: ReadonlyMap<EventEmitter, unknown>;
  };
  for (const http2 of http2Servers.keys()) {
    const handlers = http2.listeners('stream') as OnStream[];
    http2.removeAllListeners('stream');
    http2.on('stream', (stream: ServerHttp2Stream, ...rest: unknown[]) => {
      if (stream.closed || stream.destroyed) stream.on('error', nothing);
      else for (const handle of handlers) handle.call(http2, stream, ...rest);
    });
  }
}
