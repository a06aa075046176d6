import { z } from 'zod';
import {
  DEFAULT_PREFIX_PRODUCER,
  ENGINE_MODEL,
  IN_FLIGHT,
  MODELS_IN_FLIGHT,
  prefixMatchKey,
} from '../src/framework/cycle-facts.ts';
import type { Endpoint } from '../src/framework/endpoint.ts';
import type { Outcome, Routed } from '../src/framework/observer.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import type { InferenceRequest } from '../src/framework/request.ts';
import type { Millis } from '../src/framework/runtime.ts';
import type { ScoreTerms } from '../src/framework/scheduling.ts';
import { numberList } from '../src/framework/values/number-list.ts';
import { computeCost, emptyBreakdown } from './predicted-cost/compute-cost.ts';
import { CopyAccounts } from './predicted-cost/copy-accounts.ts';
import { copyOffer } from './predicted-cost/copy-offer.ts';
import { type CostCycle, costCycle } from './predicted-cost/cost-cycle.ts';
import { EndpointSamples } from './predicted-cost/endpoint-samples.ts';
import { FailureStreaks } from './predicted-cost/failure-streaks.ts';
import { HeldAdapters } from './predicted-cost/held-adapters.ts';
import { SignsOfLife } from './predicted-cost/signs-of-life.ts';

/** The last scorings that are known: more than one decision has. */
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
    /** The newest first. */
    const cycles: CostCycle[] = [];
    const copies = new CopyAccounts();
    return {
      score(endpoints, context) {
        const cycle = costCycle(context, endpoints, known);
        if (cycles.unshift(cycle) > CYCLES_KEPT) cycles.pop();
        return scoresOf(endpoints, cycle, copies);
      },
      explain(endpoint, context): ScoreTerms {
        const cycle =
          cycles.find((cycle) => cycle.context === context) ??
          costCycle(context, [endpoint], known);
        return termsOf(endpoint, cycle);
      },
      onRouted(routed: Routed) {
        held.routed(routed.endpoint, routed.request.model);
        const decision = lastDecision(routed.request, cycles);
        for (const { scored, hasOld } of decision) if (hasOld()) signs.seen(scored, routed.at);
        learnCopy(routed, copies, decision);
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
        streaks.ended(routed, at, outcome);
      },
      onEndpointRemoved(endpoint: Endpoint) {
        for (const each of [streaks, samples, held, signs]) each.forget(endpoint);
      },
    };
  },
});

function termsOf(endpoint: Endpoint, { request, stateOf, copy }: CostCycle): ScoreTerms {
  const terms = emptyBreakdown();
  computeCost(request, stateOf(endpoint), terms);
  if (copy?.endpoint.slot !== endpoint.slot) return terms;
  terms.paidMs -= copy.paidMs;
  terms.costMs -= copy.paidMs;
  return terms;
}

/**
 * The scorings of the last decision about a request, the newest first. A request that waits is
 * decided more than once, and only the last decision is decided again from a capture.
 */
function lastDecision(
  request: InferenceRequest,
  cycles: readonly CostCycle[],
): readonly CostCycle[] {
  const last = cycles.find(({ context }) => context.request === request);
  // The profiles of a decision have the same facts, and may have contexts of their own.
  return cycles.filter(({ context }) => context.get === last?.context.get);
}

/** Learns by the last scoring of the request at the place that computes its prompt. */
function learnCopy(routed: Routed, copies: CopyAccounts, decision: readonly CostCycle[]): void {
  const computes = routed.prefill ?? routed.endpoint;
  for (const { copy, scored, cachedAt } of decision) {
    if (copy === undefined || !scored.includes(computes)) continue;
    if (cachedAt(computes) < copy.tokens) copies.made(copy, routed);
    else copies.passed(copy, routed.at);
    return;
  }
}

/** Least cost / cost; 0 for an endpoint of unknown state, unless all are so. */
function scoresOf(
  endpoints: readonly Endpoint[],
  cycle: CostCycle,
  copies: CopyAccounts,
): readonly number[] {
  // It has its full length at once: a list that grows is copied each time it is full.
  const costs = numberList(endpoints.length);
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
