import { z } from 'zod';
import type { Traffic } from '../src/cost-model/queueing-delay.ts';
import { shownCapacityTokens } from '../src/cost-model/shown-capacity.ts';
import { PRIOR_STEP_TIME } from '../src/cost-model/step-time.ts';
import type { Endpoint } from '../src/framework/endpoint.ts';
import { METRICS_STALE_MS } from '../src/framework/endpoint.ts';
import {
  DEFAULT_PREFIX_PRODUCER,
  ENGINE_MODEL,
  IN_FLIGHT,
  type InFlightView,
  MODELS_IN_FLIGHT,
  type PrefixMatch,
  prefixMatchKey,
} from '../src/framework/keys.ts';
import type { Outcome, Routed } from '../src/framework/observer.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import type { Millis } from '../src/framework/runtime.ts';
import type { CycleKey, SchedulingContext, ScoreTerms } from '../src/framework/scheduling.ts';
import type { SharedBeginning } from '../src/framework/shared-beginning.ts';
import { CopyAccounts } from './copy-accounts.ts';
import { FailureStreaks } from './failure-streaks.ts';
import { HeldAdapters } from './held-adapters.ts';
import { adapterWaits } from './predicted-cost-adapters.ts';
import {
  computeCost,
  type EndpointState,
  emptyBreakdown,
  type RequestCost,
} from './predicted-cost-breakdown.ts';
import { copyOffer, type PlacedOffer } from './predicted-cost-copies.ts';
import { EndpointSamples } from './predicted-cost-samples.ts';
import { SignsOfLife } from './signs-of-life.ts';

/** Capacity in tokens until one is known: an 8 B model on one 80 GB accelerator. */
const CAPACITY_TOKENS_DEFAULT = 400_000;
const SUSPECT_COST_MS = 30_000;
/** Scorings that can be explained: more than one decision has. */
const CYCLES_KEPT = 8;

/**
 * Prefers the endpoint where this request costs least, in milliseconds of waiting for first tokens,
 * its own and that of others. The cost is the predicted time to its first token behind the work
 * already sent there, at the speed that each endpoint has shown; the time by which later requests
 * wait longer (`queueingDelayForOthersMs`); a little for the answers under way that it holds up;
 * and the wait for KV memory or for an adapter's slot. A cached prompt is less work in all of
 * these, so they all favour the endpoint that holds it, the more the busier it is. A copy of a
 * beginning elsewhere is paid for by all requests that have lost something without it
 * (`CopyAccounts`). There is nothing to tune.
 *
 * Score = least cost / cost, so that relative differences remain when other scorers are added.
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
    const streaks = new FailureStreaks();
    const samples = new EndpointSamples();
    const held = new HeldAdapters();
    const signs = new SignsOfLife();
    const known = { matchKey, streaks, samples, held, signs };
    const cycles: CostCycle[] = [];
    let turn = 0;
    const copies = new CopyAccounts();
    return {
      score(endpoints, context) {
        const cycle = costCycle(context, endpoints, known);
        cycles[turn++ % CYCLES_KEPT] = cycle;
        return scoresOf(endpoints, cycle, copies);
      },
      explain(endpoint, context): ScoreTerms {
        const cycle =
          cycles.find((cycle) => cycle.context === context) ??
          costCycle(context, [endpoint], known);
        const terms = emptyBreakdown();
        computeCost(cycle.request, cycle.stateOf(endpoint), terms);
        const { copy } = cycle;
        if (copy?.endpoint.slot !== endpoint.slot) return terms;
        terms.paidMs -= copy.paidMs;
        terms.costMs -= copy.paidMs;
        return terms;
      },
      onRouted(routed: Routed) {
        held.routed(routed.endpoint, routed.request.model);
        for (const { context, scored, hasOld } of cycles) {
          if (context.request === routed.request && hasOld()) signs.seen(scored, routed.at);
        }
        learnCopy(routed, copies, (back) => cycles[(turn - back + CYCLES_KEPT) % CYCLES_KEPT]);
      },
      onEndpointChanged(endpoint: Endpoint, previous: Endpoint) {
        held.changed(endpoint, previous);
      },
      onFirstToken(routed: Routed) {
        copies.ended(routed);
        signs.answered(routed.endpoint, routed.at);
      },
      onDone(routed: Routed, at: Millis, outcome: Outcome) {
        const { endpoint, at: sentAt } = routed;
        copies.ended(routed);
        if (outcome === 'completed') signs.answered(endpoint, sentAt);
        streaks.ended(endpoint, at, outcome);
      },
      onEndpointRemoved(endpoint: Endpoint) {
        for (const each of [streaks, samples, held, signs]) each.forget(endpoint);
      },
    };
  },
});

/** Learns by the last scoring of the request at the place that computes its prompt. */
function learnCopy(
  routed: Routed,
  copies: CopyAccounts,
  before: (back: number) => CostCycle | undefined,
): void {
  const computes = routed.prefill ?? routed.endpoint;
  for (let back = 1; back <= CYCLES_KEPT; back++) {
    const cycle = before(back);
    if (cycle?.context.request !== routed.request) return;
    const { copy, scored, cachedAt } = cycle;
    if (copy === undefined || !scored.includes(computes)) continue;
    copies.routed(copy, routed, cachedAt(computes) < copy.tokens);
    return;
  }
}

/** Least cost / cost; 0 for an endpoint of unknown state, unless all are so. */
function scoresOf(
  endpoints: readonly Endpoint[],
  cycle: CostCycle,
  copies: CopyAccounts,
): readonly number[] {
  // At once as long as it will be: a list that grows is copied each time it is full.
  const costs: number[] = [];
  costs.length = endpoints.length;
  const bestAt = readCosts(endpoints, cycle, costs);
  const copy = bestAt < 0 ? undefined : copyOffer(cycle, { costs, bestAt }, copies);
  cycle.copy = copy;
  let least = bestAt < 0 ? Number.POSITIVE_INFINITY : (costs[bestAt] as number);
  if (copy !== undefined && copy.paidMs > 0) {
    const cost = (costs[copy.at] as number) - copy.paidMs;
    costs[copy.at] = cost;
    least = Math.min(least, cost);
  }
  return dividing(costs, least);
}

/**
 * Returns the place of the least fresh cost, or -1. Costs of stale samples are given below 0. A
 * function of its own, because V8 bounds how much it compiles into one: with more around the loop,
 * reading the load of each endpoint stayed a call.
 */
function readCosts(
  endpoints: readonly Endpoint[],
  { request, stateOf }: CostCycle,
  costs: number[],
): number {
  let least = Number.POSITIVE_INFINITY;
  let leastAt = -1;
  for (let at = 0; at < endpoints.length; at++) {
    const state = stateOf(endpoints[at] as Endpoint);
    const cost = computeCost(request, state);
    costs[at] = state.stale ? -cost : cost;
    if (state.stale || cost >= least) continue;
    least = cost;
    leastAt = at;
  }
  return leastAt;
}

/**
 * Costs are above 0; that of a stale sample is given below 0, and its score is 0 unless all are
 * stale, where the least cost is infinite. Overwrites the costs.
 */
function dividing(costs: number[], leastFresh: number): readonly number[] {
  const allStale = leastFresh === Number.POSITIVE_INFINITY;
  const least = allStale ? -Math.max(...costs) : leastFresh;
  for (let index = 0; index < costs.length; index++) {
    const cost = costs[index] as number;
    costs[index] = cost < 0 && !allStale ? 0 : least / Math.abs(cost);
  }
  return costs;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type ReadState = Mutable<Omit<EndpointState, 'traffic'>> & { readonly traffic: Mutable<Traffic> };

const NO_LOAD = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };

/** What the costs of one scoring are computed from. */
interface CostCycle {
  readonly context: SchedulingContext;
  readonly request: RequestCost;
  /**
   * Reads the state of one endpoint after another into one object: with hundreds of endpoints a
   * decision, garbage would cost more than all else.
   */
  readonly stateOf: (endpoint: Endpoint, cachedTokens?: number) => EndpointState;
  readonly scored: readonly Endpoint[];
  /** Whether a sample was old. */
  readonly hasOld: () => boolean;
  readonly match: PrefixMatch;
  readonly sharedAt: ((endpoint: Endpoint) => SharedBeginning | undefined) | undefined;
  /** Tokens of the prompt that are held, or will be, when the request comes there. */
  readonly cachedAt: (endpoint: Endpoint) => number;
  /** The copy that its scoring has considered. */
  copy: PlacedOffer | undefined;
}

/** What the scorer has learned of endpoints, and where it finds what they hold of a prompt. */
interface Known {
  readonly matchKey: CycleKey<PrefixMatch>;
  readonly streaks: FailureStreaks;
  readonly samples: EndpointSamples;
  readonly held: HeldAdapters;
  readonly signs: SignsOfLife;
}

function costCycle(
  context: SchedulingContext,
  scored: readonly Endpoint[],
  { matchKey, streaks, samples, held, signs }: Known,
): CostCycle {
  const inFlight = context.get(IN_FLIGHT);
  const match = context.get(matchKey);
  const sharedAt = inFlight.sharedWith?.(context.request);
  const model = context.get(ENGINE_MODEL);
  const { now } = context;
  const outputTokens = model.expectedOutputTokens(context.request);
  const isCrowdedOut = inFlight.isCrowdedOut?.(context.request) ?? false;
  const request = { promptTokens: context.request.promptTokens, outputTokens, isCrowdedOut };
  const demandRate = model.demandRate(now);
  // Computed where a sample is old: with hundreds of endpoints none is, most of the time.
  let usualMs: Millis | undefined;
  const adapterMs = adapterWaits(context, { held, samples, scored, outputTokens });
  const state = emptyState();
  const cachedAt = (endpoint: Endpoint): number => cachedTokensAt(endpoint, match, sharedAt);
  const isSilent = (endpoint: Endpoint): boolean =>
    signs.isSilent(endpoint, (usualMs ??= signs.usualMs(scored, now)), now);
  // As short as it can be, with what is rare elsewhere: see `readCosts`.
  const stateOf = (endpoint: Endpoint, cachedTokens = cachedAt(endpoint)): EndpointState => {
    const load = inFlight.load(endpoint);
    state.load = load;
    state.engine = model.stepTime(endpoint);
    state.computedMs = isCrowdedOut ? computedMs(inFlight, endpoint, now) : 0;
    state.cachedTokens = cachedTokens;
    const { capacityTokens, lora, sampledAt } = samples.of(endpoint);
    const { metrics } = endpoint;
    state.capacityTokens =
      capacityTokens ?? shownCapacityTokens(load, metrics) ?? CAPACITY_TOKENS_DEFAULT;
    state.adapterMs = lora === undefined ? 0 : adapterMs(endpoint, lora, state);
    state.suspectMs = streaks.isSuspect(endpoint, now) ? SUSPECT_COST_MS : 0;
    const isOld = now - sampledAt > METRICS_STALE_MS;
    state.stale = isOld && isSilent(endpoint);
    const demand = model.demand(endpoint);
    state.traffic.requestsPerMs = isCrowdedOut ? 0 : demandRate * demand.requests;
    state.traffic.utilization = demandRate * demand.workMs;
    // The engine counts tokens that requests share once. Our own count is used only where it
    // reports none.
    state.heldTokens = isOld ? load.contextTokens : metrics.kvCacheUsage * state.capacityTokens;
    return state;
  };
  const hasOld = (): boolean => usualMs !== undefined;
  return { context, request, stateOf, scored, hasOld, match, sharedAt, cachedAt, copy: undefined };
}

function computedMs(inFlight: InFlightView, endpoint: Endpoint, now: Millis): Millis {
  return inFlight.computedMs?.(endpoint, now) ?? 0;
}

function emptyState(): ReadState {
  return {
    load: NO_LOAD,
    engine: PRIOR_STEP_TIME,
    traffic: { requestsPerMs: 0, utilization: 0 },
    computedMs: 0,
    cachedTokens: 0,
    capacityTokens: 0,
    heldTokens: 0,
    adapterMs: 0,
    suspectMs: 0,
    stale: false,
  };
}

/** What it holds, or will have computed for a prompt that waits for it and begins alike. */
function cachedTokensAt(
  endpoint: Endpoint,
  match: PrefixMatch,
  sharedAt: CostCycle['sharedAt'],
): number {
  const held = match.matchedBlocks(endpoint) * match.blockTokens;
  return sharedAt === undefined ? held : Math.max(held, sharedAt(endpoint)?.tokens ?? 0);
}
