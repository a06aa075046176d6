import type { Millis } from '../../framework/runtime.ts';

/** Prompts are taken from the replica that was asked, for so long. */
const PREFIXES_MS = 60_000;
/** How often they are asked for on one connection: what comes while the time is used up is lost. */
const ASKS_MAX = 3;

/** Which replica is asked for the prompts that it knows: one, once after each connection. */
export class WarmUp {
  /** Undefined: none since the last connection, or what it sent was missed. */
  #asked: { readonly peer: string; readonly at: Millis } | undefined;
  /** How often since the last connection. */
  #asks = 0;

  /** There is a new connection. */
  begin(): void {
    this.#asked = undefined;
    this.#asks = 0;
  }

  /** Whether a replica that knows prompts should be asked. */
  get isDue(): boolean {
    return this.#asked === undefined;
  }

  asked(peer: string, at: Millis): void {
    this.#asks += 1;
    this.#asked = { peer, at };
  }

  /**
   * Prompts came and were not read. They are sent once: the next peer that answers is asked again.
   */
  missed(): void {
    if (this.#asks < ASKS_MAX) this.#asked = undefined;
  }

  takesFrom(peer: string, now: Millis): boolean {
    const { peer: asked, at = 0 } = this.#asked ?? {};
    return asked === peer && now - at <= PREFIXES_MS;
  }
}
