import type { MessageSocket, MessageSocketOptions } from '../../../framework/runtime.ts';
import { openCurveSocket } from './curve-socket.ts';
import { openPlainSocket } from './plain-socket.ts';

/**
 * Opens a ZMQ socket; never throws: failures go to `onFailed`. Sockets without encryption are ours,
 * as libzmq bounds each frame of a message and not how many there are.
 */
export function openZmqSocket(options: MessageSocketOptions): MessageSocket {
  return options.curve === undefined
    ? openPlainSocket(options)
    : openCurveSocket({ ...options, curve: options.curve });
}
