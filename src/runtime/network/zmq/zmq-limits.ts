import { setTimeout as delay } from 'node:timers/promises';
import type { Millis } from '../../../framework/runtime.ts';

/** A message is a batch of events of one engine step, which is far smaller. */
export const ZMQ_MESSAGE_BYTES_MAX: number = 4 * 1024 * 1024;
/** The first and the longest wait between attempts to connect; the reference's figures. */
export const RECONNECT_MS: Millis = 100;
export const RECONNECT_MS_MAX: Millis = 5000;
/**
 * The wait before an address is opened again, or a peer that sent what it must not is connected to.
 */
export const REOPEN_MS: Millis = 5000;

/**
 * A connection that is not there by then is given up. Where packets are lost, the system would try
 * less and less often, and find the publisher late once they pass again.
 */
export const CONNECT_MS: Millis = 5000;

const BUSY_MS_MAX: Millis = 2;
const PAUSE_PER_BUSY = 4;

/**
 * Holds a sender back that has kept the process busy for two milliseconds, for four times as long:
 * no sender takes more than a fifth of the process, however much it sends.
 */
export class SenderPace {
  #busyMs: Millis = 0;

  /** Counts work for the sender. A promise where it is to wait before more is read of it. */
  worked(ms: Millis): Promise<unknown> | undefined {
    this.#busyMs += ms;
    if (this.#busyMs < BUSY_MS_MAX) return undefined;
    const pauseMs = PAUSE_PER_BUSY * this.#busyMs;
    this.#busyMs = 0;
    return delay(pauseMs, undefined, { ref: false });
  }
}
