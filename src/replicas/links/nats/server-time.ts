import type { Millis } from '../../../framework/runtime.ts';
import { BadServer } from './server-bytes.ts';

/** More than the messages of all replicas may take to apply, with what it takes to read them. */
const SHARE = 0.4;
/** What may be used at once, as after a pause of this process. */
const BURST_MS: Millis = 200;
/** A server that is held back for so long in one piece never stops sending. */
const HELD_MS_MAX: Millis = 2000;

/**
 * Limits the time that reading from a server takes to two fifths, and refuses a server that always
 * needs more.
 */
export class ServerTime {
  #leftMs = BURST_MS;
  #at: Millis;
  #heldMs: Millis = 0;

  constructor(now: Millis) {
    this.#at = now;
  }

  /**
   * Counts so much time for what was read. Returns for how long nothing more is to be read. Throws
   * BadServer where the server has been held back for long.
   */
  worked(ms: Millis, now: Millis): Millis {
    this.#leftMs += SHARE * (now - this.#at);
    this.#at = now;
    if (this.#leftMs >= BURST_MS) {
      this.#leftMs = BURST_MS;
      this.#heldMs = 0;
    }
    this.#leftMs -= ms;
    if (this.#leftMs > 0) return 0;
    const holdMs = (1 - this.#leftMs) / SHARE;
    this.#heldMs += holdMs;
    if (this.#heldMs > HELD_MS_MAX) {
      throw new BadServer(`reading it takes more than ${100 * SHARE} % of the time`);
    }
    return holdMs;
  }
}
