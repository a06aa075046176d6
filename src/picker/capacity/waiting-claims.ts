import type { Outcome, RequestObserver, Routed, Usage } from '../../framework/observer.ts';
import { RequestMap } from '../../framework/request-map.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { AdapterNames } from '../engine-model/adapter-names.ts';
import { mayWaitForResources } from '../engine-model/resource-waits.ts';

/** The prior: two requests that were delayed by all that was reported. */
const PRIOR = 2 * 100 ** 2;
/** Earlier observations keep so much of their weight: about twenty count. */
const KEPT = 0.95;
/** One late answer counts at most as if twice of what was reported had waited there. */
const SHARE_MAX = 2;

/** Sums over requests of an endpoint, which count less as they age: a regression of delays on what was reported. */
interface Claims {
  squares: number;
  products: number;
}

/**
 * How much of what endpoints report as waiting, and that is not ours, delays our requests. Some
 * engines count requests that wait for something else than a step, such as an adapter or blocks
 * from another server, some are old by seconds, and some are wrong. If they counted for ever, they
 * would keep an idle server closed.
 */
export class WaitingClaims implements RequestObserver {
  readonly #adapters: Pick<AdapterNames, 'has'>;
  /** By slot. */
  readonly #claims: (Claims | undefined)[] = [];
  /** Milliseconds of others' prompts that were reported when each request was sent. */
  readonly #reportedMs = new RequestMap<Millis>();

  constructor(adapters: Pick<AdapterNames, 'has'>) {
    this.#adapters = adapters;
  }

  /** The share of the reported prompts that is to be expected there. */
  share(slot: number): number {
    const claims = this.#claims[slot];
    return claims === undefined ? 1 : Math.min(1, claims.products / claims.squares);
  }

  /** A request that may wait there for memory or an adapter shows nothing. */
  sent(routed: Routed, reportedMs: Millis): void {
    if (reportedMs <= 0 || mayWaitForResources(routed, this.#adapters)) return;
    this.#reportedMs.set(routed, reportedMs);
  }

  onFirstToken(routed: Routed, at: Millis): void {
    this.#observe(routed, at - routed.at);
  }

  /**
   * An answer in one piece shows no first token. Its time is that of the end less the time of all
   * tokens.
   */
  onDone(routed: Routed, at: Millis, outcome: Outcome, usage: Usage | undefined): void {
    const { expectedTpotMs = Number.NaN, firstTokenVisible } = routed;
    if (outcome === 'completed' && !firstTokenVisible && usage !== undefined)
      this.#observe(routed, at - routed.at - usage.completionTokens * expectedTpotMs);
    this.#reportedMs.delete(routed);
  }

  #observe(routed: Routed, ttftMs: Millis): void {
    const reportedMs = this.#reportedMs.get(routed);
    const delayMs = ttftMs - (routed.expectedTtftMs ?? Number.NaN);
    if (reportedMs === undefined || Number.isNaN(delayMs)) return;
    const counted = Math.max(0, Math.min(SHARE_MAX * reportedMs, delayMs));
    const { slot } = routed.endpoint;
    const claims = (this.#claims[slot] ??= { squares: PRIOR, products: PRIOR });
    claims.squares = KEPT * claims.squares + reportedMs * reportedMs;
    claims.products = KEPT * claims.products + reportedMs * counted;
  }

  forget(slot: number): void {
    this.#claims[slot] = undefined;
  }
}
