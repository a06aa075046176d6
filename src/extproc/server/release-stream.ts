import type { EventEmitter } from 'node:events';

const nothing = (): void => undefined;

/**
 * Calls `onClosed` when the HTTP/2 stream has closed, and cuts its references to its request: 12 KB
 * that every scavenge would copy until the next full garbage collection. That was 10 % of a small
 * request's CPU, and pauses of 10 ms instead of 1.
 */
export function releaseStreamOnClose(http2: EventEmitter, onClosed: () => void): void {
  http2.on('error', nothing);
  http2.once('close', () => {
    onClosed();
    http2.removeAllListeners();
    http2.on('error', nothing);
  });
}
