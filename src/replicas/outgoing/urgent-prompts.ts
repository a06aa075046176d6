import { type Routed, tokensToCompute } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';

/**
 * Prompt tokens to compute at one endpoint that the others must know of soon: a server takes a
 * tenth of a second for them. Less waits for the batch, because one message for each prompt would
 * cost too much.
 */
const URGENT_TOKENS = 2048;
const URGENT_MS: Millis = 1;
/** Urgent batches are so far apart at least, so that many long prompts share one. */
const APART_MS: Millis = 5;

/** Says how soon a batch must be sent for the prompts in it. */
export class UrgentPrompts {
  /** By the slot of an endpoint, prompt tokens of this batch that it has to compute. */
  readonly #tokens = new Map<number, number>();
  #sentAt: Millis = Number.NEGATIVE_INFINITY;

  /** After how long the batch must be sent for this request; undefined where it need not hurry. */
  add(routed: Routed, now: Millis): Millis | undefined {
    const { slot } = routed.prefill ?? routed.endpoint;
    const tokens = (this.#tokens.get(slot) ?? 0) + tokensToCompute(routed);
    this.#tokens.set(slot, tokens);
    return tokens < URGENT_TOKENS ? undefined : Math.max(URGENT_MS, this.#sentAt + APART_MS - now);
  }

  /** The batch is sent, or dropped: the next one begins. */
  begin(now: Millis): void {
    this.#sentAt = now;
    this.#tokens.clear();
  }
}
