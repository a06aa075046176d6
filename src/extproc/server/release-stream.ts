import type { EventEmitter } from 'node:events';

/** grpc-js's object for a stream, with the call below it. */
export interface CallStream extends EventEmitter {
  call: object;
}

const nothing = (): void => undefined;

/** A call that ignores what grpc-js's stream and AnswerWriter may still send. */
const CLOSED_CALL = {
  stream: { writableCorked: 1, cork: nothing, uncork: nothing },
  sendMetadata: nothing,
  sendMessage: nothing,
  sendStatus: nothing,
  startRead: nothing,
};

/**
 * Calls `onClosed` when the HTTP/2 stream has closed, and cuts the gRPC stream's references to its
 * request: 12 KB that every scavenge would copy until the next full garbage collection. That was 10
 * % of a small request's CPU, and pauses of 10 ms instead of 1.
 */
export function releaseStreamOnClose(
  http2: EventEmitter,
  stream: CallStream,
  onClosed: () => void,
): void {
  http2.once('close', () => {
    dropListeners(http2);
    // After grpc-js's own handlers of this turn.
    setImmediate(() => {
      onClosed();
      dropListeners(stream);
      stream.call = CLOSED_CALL;
    });
  });
}

function dropListeners(emitter: EventEmitter): void {
  emitter.removeAllListeners();
  emitter.on('error', nothing);
}
