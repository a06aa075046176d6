import type { StepTime } from '../../framework/cycle-facts.ts';
import { type Endpoint, isFresh } from '../../framework/endpoint.ts';
import {
  type Outcome,
  type RequestObserver,
  type Routed,
  tokensToCompute,
  type Usage,
} from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { AdapterNames } from '../engine-model/adapter-names.ts';
import type { Ledger } from '../load/ledger.ts';
import { WaitingClaims } from './waiting-claims.ts';

/** How much of the mean size of prompts each new prompt changes. */
const MEAN_SHARE = 0.02;

/**
 * The prompts of others, such as further pickers, that wait at each endpoint, as far as its samples
 * show: what waits there beyond our own, at the mean size of our own prompts. How far that can be
 * believed is learned from how late our requests are.
 */
export class ReportedPrompts implements RequestObserver {
  readonly #ledger: Pick<Ledger, 'pendingRequests'>;
  readonly #claims: WaitingClaims;
  /** Our requests whose prompts were not computed when the last sample came, by slot. */
  readonly #pendingAtSample: (number | undefined)[] = [];
  #meanTokens = 0;

  constructor(ledger: Pick<Ledger, 'pendingRequests'>, adapters: Pick<AdapterNames, 'has'>) {
    this.#ledger = ledger;
    this.#claims = new WaitingClaims(adapters);
  }

  /** How many are to be expected there. */
  requests(endpoint: Endpoint, at: Millis): number {
    return this.#claims.share(endpoint.slot) * this.#reported(endpoint, at);
  }

  /** The tokens of those that are to be expected there. */
  tokens(endpoint: Endpoint, at: Millis): number {
    return this.#claims.share(endpoint.slot) * this.#reportedTokens(endpoint, at);
  }

  /** A request of ours has been sent, whose prompt one of so many engines computes. */
  sent(routed: Routed, { perPrefillTokenMs }: StepTime, engines: number): void {
    const computes = routed.prefill ?? routed.endpoint;
    const reportedMs = perPrefillTokenMs * this.#reportedTokens(computes, routed.at);
    this.#claims.sent(routed, reportedMs / engines);
    this.#meanTokens += MEAN_SHARE * (tokensToCompute(routed) - this.#meanTokens);
    this.#pendingAtSample[computes.slot] ??= 0;
  }

  /** The endpoint has a new sample. */
  sampled(endpoint: Endpoint): void {
    if (this.#pendingAtSample[endpoint.slot] === undefined) return;
    this.#pendingAtSample[endpoint.slot] = this.#ledger.pendingRequests(endpoint);
  }

  onFirstToken(routed: Routed, at: Millis): void {
    this.#claims.onFirstToken(routed, at);
  }

  onDone(routed: Routed, at: Millis, outcome: Outcome, usage: Usage | undefined): void {
    this.#claims.onDone(routed, at, outcome, usage);
  }

  forget(slot: number): void {
    this.#pendingAtSample[slot] = undefined;
    this.#claims.forget(slot);
  }

  #reportedTokens(endpoint: Endpoint, at: Millis): number {
    return this.#meanTokens * this.#reported(endpoint, at);
  }

  /** What waits there beyond our own requests; 0 where the sample is old. */
  #reported(endpoint: Endpoint, at: Millis): number {
    const { waitingQueueSize } = endpoint.metrics;
    if (waitingQueueSize === 0 || !isFresh(endpoint, at)) return 0;
    const pending = this.#ledger.pendingRequests(endpoint);
    const ours = Math.max(pending, this.#pendingAtSample[endpoint.slot] ?? 0);
    return Math.max(0, waitingQueueSize - ours);
  }
}
