import { type Routed, tokensToCompute } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';

/** A pick that may be sent now is sent so soon: others of the same event go with it. */
const SOON_MS: Millis = 1;
/** Batches may be sent for picks so often in the mean: each costs about what a booking does. */
const PACE_MS: Millis = 20;
/** After a quiet time so many may follow each other at once. */
const BURST = 4;
/**
 * Prompt tokens to compute at one endpoint that the others must know of soon: a server takes a
 * tenth of a second for them.
 */
const URGENT_TOKENS = 2048;
/** Batches for these are so far apart at least, so that many long prompts share one. */
const URGENT_APART_MS: Millis = 5;

/**
 * Says how soon a batch must be sent for the picks in it. Until the others know of a pick, they
 * send their requests to the same endpoint, because it looks free to all of them alike.
 */
export class PickPace {
  /** By the slot of an endpoint, prompt tokens of this batch that it has to compute. */
  readonly #tokens = new Map<number, number>();
  #sentAt: Millis = Number.NEGATIVE_INFINITY;
  /** When all batches so far would have been sent, at one in `PACE_MS`. */
  #paceAt: Millis = Number.NEGATIVE_INFINITY;

  /** After how long the batch must be sent for this request. */
  add(routed: Routed, now: Millis): Millis {
    const { slot } = routed.prefill ?? routed.endpoint;
    const tokens = (this.#tokens.get(slot) ?? 0) + tokensToCompute(routed);
    this.#tokens.set(slot, tokens);
    const pacedAt = this.#paceAt - (BURST - 1) * PACE_MS;
    const urgentAt = tokens < URGENT_TOKENS ? pacedAt : this.#sentAt + URGENT_APART_MS;
    return Math.max(SOON_MS, Math.min(pacedAt, urgentAt) - now);
  }

  /** The batch is sent, or dropped: the next one begins. */
  begin(now: Millis): void {
    this.#sentAt = now;
    this.#paceAt = Math.max(this.#paceAt, now) + PACE_MS;
    this.#tokens.clear();
  }
}
