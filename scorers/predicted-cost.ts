import { z } from 'zod';
import type { Endpoint } from '../src/framework/endpoint.ts';
import { isFresh } from '../src/framework/freshness.ts';
import {
  CACHE_CONFIG,
  DEFAULT_PREFIX_PRODUCER,
  IN_FLIGHT,
  type InFlightView,
  type PrefixMatch,
  prefixMatchKey,
} from '../src/framework/keys.ts';
import type { Outcome, Routed } from '../src/framework/observer.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import type { InferenceRequest } from '../src/framework/request.ts';
import type { SchedulingContext } from '../src/framework/scheduling.ts';
import { PRIOR_STEP_TIME, predictedTtftMs } from '../src/framework/step-time.ts';

/** Of KV memory: beyond it engines begin to preempt, and each preemption recomputes a whole request. */
const MEMORY_COMFORTABLE = 0.9;
/** Cost of a memory filled twice over that bound, from the policy study. */
const MEMORY_OVERFLOW_MS = 20_000;
/** Capacity assumed until an engine reports one: an 8 B model on one 80 GB accelerator. */
const CAPACITY_TOKENS_DEFAULT = 400_000;
/** Slows everybody on the endpoint a little, whatever else is true; breaks ties towards the emptier. */
const PER_REQUEST_MS = 0.2;
const LOCALITY_PRICE_AT_REST = 4;
const LOCALITY_PRICE_MAX = 64;
/** How long one failure counts against an endpoint; doubles with each in a row. */
const SUSPECT_MS = 500;
const SUSPECT_DOUBLINGS_MAX = 6;
const SUSPECT_COST_MS = 30_000;

interface Suspicion {
  readonly failures: number;
  readonly until: number;
}

/**
 * Prefers the endpoint where this request costs least: the predicted time to its first token behind the work already
 * sent there, plus a price on every prompt token that must be computed again although a copy exists or could exist
 * elsewhere (each copy evicts another prefix), plus a penalty where KV memory runs short. Nothing to tune.
 *
 * Score = least cost / cost, so that weighing it against other scorers keeps relative differences.
 * Formula and constants: facts of the policy study the project began with; the price of locality rises with the
 * pool's pending prefill p in seconds, min(64, 4·(1 + p)).
 */
export const predictedCost: ScorerDefinition = defineScorer({
  type: 'predicted-cost-scorer',
  config: z.strictObject({
    prefixMatchInfoProducerName: z.string().default(DEFAULT_PREFIX_PRODUCER),
  }),
  needs: ({ prefixMatchInfoProducerName }) => [
    prefixMatchKey(prefixMatchInfoProducerName),
    IN_FLIGHT,
  ],
  create({ prefixMatchInfoProducerName }) {
    const matchKey = prefixMatchKey(prefixMatchInfoProducerName);
    const suspicions: (Suspicion | undefined)[] = [];
    return {
      score(endpoints, context) {
        const { request, now } = context;
        const costOf = costModel(endpoints, context, matchKey);
        const costs = endpoints.map((endpoint) => {
          const suspect = now < (suspicions[endpoint.slot]?.until ?? 0);
          return costOf(endpoint, request) + (suspect ? SUSPECT_COST_MS : 0);
        });
        const known = endpoints.some((endpoint) => isFresh(endpoint, now));
        const usable = (index: number): boolean =>
          !known || isFresh(endpoints[index] as Endpoint, now);
        let least = Number.POSITIVE_INFINITY;
        costs.forEach((cost, index) => {
          if (usable(index) && cost < least) least = cost;
        });
        return costs.map((cost, index) => (usable(index) ? least / cost : 0));
      },
      onDone({ endpoint: { slot } }: Routed, at: number, outcome: Outcome) {
        if (outcome === 'completed') suspicions[slot] = undefined;
        if (outcome !== 'failed') return;
        const failures = Math.min((suspicions[slot]?.failures ?? 0) + 1, SUSPECT_DOUBLINGS_MAX);
        suspicions[slot] = { failures, until: at + SUSPECT_MS * 2 ** (failures - 1) };
      },
      onEndpointRemoved({ slot }: Endpoint) {
        suspicions[slot] = undefined;
      },
    };
  },
});

function costModel(
  endpoints: readonly Endpoint[],
  context: SchedulingContext,
  matchKey: ReturnType<typeof prefixMatchKey>,
): (endpoint: Endpoint, request: InferenceRequest) => number {
  const inFlight: InFlightView = context.get(IN_FLIGHT);
  const match: PrefixMatch = context.get(matchKey);
  let pendingTokens = 0;
  for (const endpoint of endpoints) pendingTokens += inFlight.load(endpoint).pendingPrefillTokens;
  const pendingSeconds =
    (PRIOR_STEP_TIME.perPrefillTokenMs * pendingTokens) / Math.max(1, endpoints.length) / 1000;
  const price = Math.min(LOCALITY_PRICE_MAX, LOCALITY_PRICE_AT_REST * (1 + pendingSeconds));
  return (endpoint, { promptTokens }) => {
    const load = inFlight.load(endpoint);
    const cachedTokens = match.matchedBlocks(endpoint) * match.blockTokens;
    const uncachedTokens = Math.max(0, promptTokens - cachedTokens);
    const memory = (load.contextTokens + promptTokens) / capacityTokens(endpoint);
    return (
      predictedTtftMs(load, uncachedTokens) +
      price * PRIOR_STEP_TIME.perPrefillTokenMs * uncachedTokens +
      MEMORY_OVERFLOW_MS * Math.max(0, memory - MEMORY_COMFORTABLE) +
      PER_REQUEST_MS * load.requests
    );
  };
}

function capacityTokens(endpoint: Endpoint): number {
  const cache = endpoint.attribute(CACHE_CONFIG);
  return cache === undefined ? CAPACITY_TOKENS_DEFAULT : cache.blocks * cache.blockTokens;
}
