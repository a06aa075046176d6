import type { Outcome, Usage } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { RequestObservers } from '../events/request-observers.ts';
import { copyOfLoad, expectedAt } from '../load/reserve.ts';
import { countedUsage } from './answer-additions.ts';
import { type PlacedRequest, type ReserveParts, routedOf } from './place-request.ts';

/** What is known of a request once it has ended. */
export interface RequestEnding {
  /** Undefined where none was seen. */
  readonly firstTokenAt: Millis | undefined;
  readonly at: Millis;
  readonly outcome: Outcome;
  readonly usage: Usage | undefined;
}

/**
 * Learns from a request that is known only now that it has ended what is learned from any other.
 * Nothing is reserved for it, and its endpoint is not expected to work on it.
 */
export function learnEnded(
  placed: PlacedRequest,
  { firstTokenAt, at, outcome, usage }: RequestEnding,
  observers: RequestObservers,
  parts: ReserveParts,
): void {
  const { request, endpoint, prefill, cachedTokens, prefillCachedTokens } = placed;
  const { ejector, ledger, engineModel } = parts;
  const before = prefill && { endpoint: prefill, cachedTokens: prefillCachedTokens };
  const { ttftMs, tpotMs } = expectedAt(endpoint, {
    request,
    prefill: before,
    cachedTokens,
    ledger,
    engineModel,
  });
  const load = placed.load ?? copyOfLoad(ledger.load(endpoint));
  const prefillLoad = prefill && copyOfLoad(ledger.load(prefill));
  const routed = routedOf(placed, { load, prefillLoad, ttftMs, tpotMs });
  observers.routed(routed);
  ejector.routed(routed, ttftMs);
  if (firstTokenAt !== undefined) {
    ejector.firstToken(routed, endpoint, firstTokenAt);
    observers.firstToken(routed, firstTokenAt);
  }
  const counted = countedUsage(usage, endpoint, parts);
  const ending = { outcome, usage: counted, responseBytes: undefined, status: undefined };
  ejector.done(routed, endpoint, { at, outcome });
  observers.ended(routed, at, ending);
  observers.done(routed, at, ending);
}
