import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import type { Clock, Millis } from '../../../framework/runtime.ts';
import { Deadline, TimeoutError } from '../../clock/deadline.ts';

/**
 * A server that is silent for so long is asked by TCP whether it is still there, ten times in ten
 * seconds: one that computes an answer is, and one whose host has vanished is not.
 */
const KEEPALIVE_MS: Millis = 5000;

/** A server did not take a connection in time. It has got nothing of a request. */
export class NoConnection extends TimeoutError {}

/**
 * Gives up a connection, with its TLS handshake, after `limitMs`; 0 is no limit. The connector has
 * no time-out of its own: undici's takes its time from the machine. TCP watches over the connection.
 */
export function connectWithin(
  connect: buildConnector.connector,
  limitMs: Millis,
  clock: Clock,
): buildConnector.connector {
  return (options, callback) => {
    const error = new NoConnection(`no connection within ${limitMs} ms`);
    // One that came about while this process stood still is kept.
    const deadline = new Deadline(clock, limitMs, () => socket.destroy(error));
    deadline.restart();
    // Declared as without a result, but it returns the socket.
    const socket = connect(options, (...outcome) => {
      deadline.stop();
      const [, connected] = outcome;
      connected?.setKeepAlive(true, KEEPALIVE_MS);
      callback(...outcome);
    }) as unknown as Socket;
  };
}
