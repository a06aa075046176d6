import { z } from 'zod';
import { decodeStepMs, PRIOR_STEP_TIME } from '../src/cost-model/step-time.ts';
import type { Endpoint } from '../src/framework/endpoint.ts';
import { isFresh } from '../src/framework/freshness.ts';
import {
  CACHE_CONFIG,
  DEFAULT_PREFIX_PRODUCER,
  ENGINE_MODEL,
  IN_FLIGHT,
  LORA,
  MODELS_IN_FLIGHT,
  prefixMatchKey,
} from '../src/framework/keys.ts';
import type { Outcome, Routed } from '../src/framework/observer.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import type { SchedulingContext } from '../src/framework/scheduling.ts';
import { CostInputs, costAccount, scoresOfCosts } from './predicted-cost-account.ts';
import { type Errand, emptyBill, type Place, reckon } from './predicted-cost-bill.ts';

/** Capacity assumed until an engine reports one: an 8 B model on one 80 GB accelerator. */
const CAPACITY_TOKENS_DEFAULT = 400_000;
/** To bring an adapter that an endpoint does not hold: 16 MB from disk, and onto the accelerator. */
const ADAPTER_LOAD_MS = 60;
/** How long one failure counts against an endpoint; doubles with each in a row. */
const SUSPECT_MS = 500;
const SUSPECT_DOUBLINGS_MAX = 6;
const SUSPECT_COST_MS = 30_000;

interface Suspicion {
  readonly failures: number;
  readonly until: number;
}

/**
 * Prefers the endpoint where this request costs least, in milliseconds of waiting for first tokens, its own and others':
 * the predicted time to its first token behind the work already sent there, with the speed each endpoint has shown; by how
 * much those who come later wait longer for it (`laterDelayMs`); a little for answers under way that it holds up; and what
 * waiting for KV memory or an adapter's slot would take. A prompt that is cached is less work, so all of these hold on to
 * cached copies, the more the busier the endpoint. Nothing to tune.
 *
 * Score = least cost / cost, so that weighing it against other scorers keeps relative differences.
 */
export const predictedCost: ScorerDefinition = defineScorer({
  type: 'predicted-cost-scorer',
  config: z.strictObject({
    prefixMatchInfoProducerName: z.string().default(DEFAULT_PREFIX_PRODUCER),
  }),
  needs: ({ prefixMatchInfoProducerName }) => [
    prefixMatchKey(prefixMatchInfoProducerName),
    IN_FLIGHT,
    MODELS_IN_FLIGHT,
    ENGINE_MODEL,
  ],
  create({ prefixMatchInfoProducerName }) {
    const matchKey = prefixMatchKey(prefixMatchInfoProducerName);
    const inputs = new CostInputs();
    const bill = emptyBill();
    const suspicions: (Suspicion | undefined)[] = [];
    return {
      account: costAccount(inputs),
      score(endpoints, context) {
        const { now, request } = context;
        const model = context.get(ENGINE_MODEL);
        const errand: Errand = {
          promptTokens: request.promptTokens,
          outputTokens: model.expectedOutputTokens(request),
          demandRate: model.demandRate(now),
        };
        const placeOf = placesOf(endpoints, context, { matchKey, errand });
        inputs.begin(endpoints.length, errand);
        const costs = endpoints.map((endpoint, index) => {
          const suspect = now < (suspicions[endpoint.slot]?.until ?? 0);
          const place = placeOf(endpoint, suspect ? SUSPECT_COST_MS : 0);
          inputs.note(index, place);
          return reckon(errand, place, bill);
        });
        return scoresOfCosts(costs, inputs.stale);
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

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

const NO_DEMAND = { requests: 0, workMs: 0 };
const NO_LOAD = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };

/** One Place, filled anew for each endpoint: of hundreds a decision the garbage would cost more than all else. */
function placesOf(
  endpoints: readonly Endpoint[],
  context: SchedulingContext,
  {
    matchKey,
    errand: { outputTokens },
  }: { readonly matchKey: ReturnType<typeof prefixMatchKey>; readonly errand: Errand },
): (endpoint: Endpoint, suspectMs: number) => Place {
  const inFlight = context.get(IN_FLIGHT);
  const match = context.get(matchKey);
  const model = context.get(ENGINE_MODEL);
  const adapterWaitMs = adapterModel(endpoints, context, outputTokens);
  const place: Mutable<Place> = {
    load: NO_LOAD,
    engine: PRIOR_STEP_TIME,
    demand: NO_DEMAND,
    cachedTokens: 0,
    capacityTokens: 0,
    heldTokens: 0,
    adapterMs: 0,
    suspectMs: 0,
    stale: false,
  };
  return (endpoint, suspectMs) => {
    const load = inFlight.load(endpoint);
    const engine = model.stepTime(endpoint);
    place.load = load;
    place.engine = engine;
    place.cachedTokens = match.matchedBlocks(endpoint) * match.blockTokens;
    place.capacityTokens = capacityTokens(endpoint);
    place.adapterMs = adapterWaitMs(endpoint, place);
    place.suspectMs = suspectMs;
    place.stale = !isFresh(endpoint, context.now);
    place.demand = model.demand(endpoint);
    // Its own word counts what requests share once; ours only has to do where there is none.
    place.heldTokens = place.stale
      ? load.contextTokens
      : endpoint.metrics.kvCacheUsage * place.capacityTokens;
    return place;
  };
}

/**
 * What an adapter costs at an endpoint: nothing where it is in use and no other waits for a slot, a load where a slot is
 * open, and otherwise a wait until enough of those ahead, each as long as an answer of `outputTokens`, are through.
 */
function adapterModel(
  endpoints: readonly Endpoint[],
  context: SchedulingContext,
  outputTokens: number,
): (endpoint: Endpoint, place: Pick<Place, 'load' | 'engine'>) => number {
  const { model } = context.request;
  const inFlight = context.get(MODELS_IN_FLIGHT);
  const isAdapter = endpoints.some((endpoint) => {
    const lora = endpoint.attribute(LORA);
    return lora !== undefined && (lora.running.has(model) || lora.waiting.has(model));
  });
  if (!isAdapter) return () => 0;
  return (endpoint, { load, engine }) => {
    const lora = endpoint.attribute(LORA);
    if (lora === undefined) return 0;
    const ours = inFlight.models(endpoint);
    const here = ours.has(model);
    const waiting = ours.size + (here ? 0 : 1) - lora.max;
    const residenceMs = outputTokens * decodeStepMs(load.requests, load.contextTokens, engine);
    const waitMs = waiting > 0 ? (waiting / lora.max) * residenceMs : 0;
    const isHeld = here || lora.running.has(model);
    return waitMs + (isHeld ? 0 : ADAPTER_LOAD_MS);
  };
}

function capacityTokens(endpoint: Endpoint): number {
  const cache = endpoint.attribute(CACHE_CONFIG);
  // An engine that says it has none must not make all costs endless.
  return cache === undefined
    ? CAPACITY_TOKENS_DEFAULT
    : Math.max(1, cache.blocks * cache.blockTokens);
}
