import { type Routed, tokensToCompute } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';

/** A pick that may be sent now is sent after the event: others of the same event go with it. */
const NOW_MS: Millis = 0;
/** Batches may be sent for picks so often in the mean: each costs about what a booking does. */
const PACE_MS: Millis = 10;
/** After a quiet time so many may follow each other at once. */
const BURST = 4;
/**
 * Prompt tokens to compute at one endpoint, beyond the mean of all, that the others must know of
 * soon: a server takes a tenth of a second for them.
 */
const URGENT_TOKENS = 2048;
/** Batches for these are so far apart at least, so that many long prompts share one. */
const URGENT_APART_MS: Millis = 5;

export interface PickPaceOptions {
  /** However many picks there are, batches for them need not be farther apart. */
  readonly intervalMs: Millis;
  /** How many endpoints there are. */
  readonly endpoints: () => number;
}

/**
 * Says how soon a batch must be sent for the picks in it. Until the others know of a pick, they
 * send their requests to the same endpoint, because it looks free to all of them alike. Where a
 * batch has several picks for each endpoint, its sender has spread them, and it may cost less.
 */
export class PickPace {
  readonly #options: PickPaceOptions;
  /** By the slot of an endpoint, prompt tokens of this batch that it has to compute. */
  readonly #tokens = new Map<number, number>();
  #tokensOfAll = 0;
  #picks = 0;
  #sentAt: Millis = Number.NEGATIVE_INFINITY;
  /** When all batches so far would have been sent, at their pace. */
  #paceAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(options: PickPaceOptions) {
    this.#options = options;
  }

  /** After how long the batch must be sent for this request. */
  add(routed: Routed, now: Millis): Millis {
    const { slot } = routed.prefill ?? routed.endpoint;
    const added = tokensToCompute(routed);
    const tokens = (this.#tokens.get(slot) ?? 0) + added;
    this.#tokens.set(slot, tokens);
    this.#tokensOfAll += added;
    this.#picks += 1;
    const pacedAt = this.#paceAt - (BURST - 1) * PACE_MS;
    const urgentAt = this.#isUrgent(tokens) ? this.#sentAt + URGENT_APART_MS : pacedAt;
    return Math.max(NOW_MS, Math.min(pacedAt, urgentAt) - now);
  }

  /** The batch is sent, or dropped: the next one begins. */
  begin(now: Millis): void {
    const paceMs = PACE_MS * Math.max(1, this.#picks / this.#endpoints);
    this.#sentAt = now;
    this.#paceAt = Math.max(this.#paceAt, now) + Math.min(paceMs, this.#options.intervalMs);
    this.#tokens.clear();
    this.#tokensOfAll = 0;
    this.#picks = 0;
  }

  #isUrgent(tokens: number): boolean {
    if (tokens < URGENT_TOKENS) return false;
    return tokens - this.#tokensOfAll / this.#endpoints >= URGENT_TOKENS;
  }

  get #endpoints(): number {
    return Math.max(1, this.#options.endpoints());
  }
}
