import type { EventEmitter } from 'node:events';

/** grpc-js's object for a stream, and the call that it speaks through. */
export interface CallStream extends EventEmitter {
  call: object;
}

const nothing = (): void => undefined;

/** Whoever comes late speaks to this: what grpc-js's own stream and our writer of answers use of a call. */
const OVER = {
  stream: { writableCorked: 1, cork: nothing, uncork: nothing },
  sendMetadata: nothing,
  sendMessage: nothing,
  sendStatus: nothing,
  startRead: nothing,
};

/**
 * Once the HTTP/2 stream is over and everybody has heard of it, calls `last` and unties the gRPC stream from all that belongs to
 * its request. The streams themselves stay reachable until the next full collection of garbage, whatever one does, and all
 * that they know with them: 12 KB a request, which every scavenge until then copies instead of dropping. That was
 * 10 % of a small request's CPU, and pauses of 10 ms in place of 1.
 */
export function releaseStreamOnClose(http2: EventEmitter, stream: CallStream, last: () => void): void {
  http2.once('close', () => {
    silence(http2);
    // After what grpc-js does about it in this turn.
    setImmediate(() => {
      last();
      silence(stream);
      stream.call = OVER;
    });
  });
}

function silence(emitter: EventEmitter): void {
  emitter.removeAllListeners();
  emitter.on('error', nothing);
}
