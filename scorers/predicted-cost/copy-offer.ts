import type { PrefixMatch } from '../../src/framework/cycle-facts.ts';
import type { Endpoint } from '../../src/framework/endpoint.ts';
import type { PromptBlocks } from '../../src/framework/request.ts';
import type { Millis } from '../../src/framework/runtime.ts';
import type { SchedulingContext } from '../../src/framework/scheduling.ts';
import type { SharedBeginning } from '../../src/framework/values/shared-beginning.ts';
import { type CostBreakdown, computeCost, emptyBreakdown } from './compute-cost.ts';
import type { CopyAccounts, CopyOffer } from './copy-accounts.ts';
import type { EndpointState, RequestCost } from './cost-facts.ts';

/** What a scoring is computed from. */
interface Scoring {
  readonly context: SchedulingContext;
  readonly request: RequestCost;
  readonly scored: readonly Endpoint[];
  readonly match: PrefixMatch;
  readonly sharedAt: ((endpoint: Endpoint) => SharedBeginning | undefined) | undefined;
  /** Tokens of the prompt that the endpoint holds. */
  readonly cachedAt: (endpoint: Endpoint) => number;
  /** The state of an endpoint, as if it held so many tokens of the prompt. */
  readonly stateOf: (endpoint: Endpoint, cachedTokens: number) => EndpointState;
}

/** What a scoring has found out. */
interface Costs {
  /** By the place of the endpoint; below 0 where its sample is stale. */
  readonly costs: readonly number[];
  /** The place of the best endpoint. */
  readonly bestAt: number;
}

/** A copy of what the best endpoint holds, and where it would be made. */
export interface PlacedOffer extends CopyOffer {
  readonly endpoint: Endpoint;
  /** Its place. */
  readonly at: number;
  /** How long the beginning is. */
  readonly tokens: number;
  /** How much of the price is paid. */
  readonly paidMs: Millis;
}

/** `HeldPrompts` counts one block of so many. */
const SHARED_STEP_BLOCKS = 8;
/** A key has the 32 low and 21 of the high bits of a block's hash, which a number holds exactly. */
const LOW_RANGE = 2 ** 32;
const HIGH_BITS = 0x1f_ffff;

/**
 * The copy that would serve the request best: at the cheapest of the endpoints that hold less of
 * its prompt than the best one. None where the best one is idle, where all hold as much, or where
 * nobody knows what a copy displaces.
 */
export function copyOffer(
  scoring: Scoring,
  { costs, bestAt }: Costs,
  accounts: Pick<CopyAccounts, 'paidMs'>,
): PlacedOffer | undefined {
  const { context, request, scored, match, cachedAt, stateOf } = scoring;
  const { prompt } = context.request;
  const best = scored[bestAt] as Endpoint;
  const tokens = cachedAt(best);
  const block = Math.floor(tokens / prompt.blockTokens) - 1;
  if (block < 0 || block >= prompt.count || match.reuseRate === undefined) return undefined;
  // Each state is read into the same object, and so are the terms.
  const terms = emptyBreakdown();
  const holding = stateOf(best, tokens);
  if (holding.load.requests === 0) return undefined;
  computeCost(request, holding, terms);
  const atBestMs = ownWaitMs(terms, holding);
  const at = cheapestBelow(tokens, scoring, costs);
  if (at < 0) return undefined;
  const endpoint = scored[at] as Endpoint;
  // Where memory is short, a copy takes it from answers, too.
  computeCost(request, stateOf(endpoint, cachedAt(endpoint)), terms);
  if (terms.memoryMs > 0) return undefined;
  const copied = stateOf(endpoint, tokens);
  const priceMs = (costs[at] as number) - computeCost(request, copied, terms);
  if (priceMs <= 0) return undefined;
  const lostMs = Math.max(0, atBestMs - ownWaitMs(terms, copied));
  // Earlier requests of the queue wait less long: half as long in the mean.
  const waitingLostMs = (lostMs / 2) * waitingAlike(scoring, tokens);
  const reuseRate = match.reuseRate(endpoint, context.now);
  const offer = { key: keyOf(prompt, block), lostMs, waitingLostMs, priceMs, reuseRate };
  const paidMs = Math.min(priceMs, accounts.paidMs(offer, context.now));
  return { ...offer, endpoint, at, tokens, paidMs };
}

/** The place of the cheapest endpoint that holds fewer tokens, or -1. */
function cheapestBelow(
  tokens: number,
  { scored, cachedAt }: Scoring,
  costs: readonly number[],
): number {
  let at = -1;
  let least = Number.POSITIVE_INFINITY;
  for (let place = 0; place < costs.length; place++) {
    const cost = costs[place] as number;
    if (cost >= least || cost < 0 || cachedAt(scored[place] as Endpoint) >= tokens) continue;
    at = place;
    least = cost;
  }
  return at;
}

/**
 * What the request itself waits for its first token. What others wait because of it counts when
 * they come: in a sum over all requests nothing shall be there twice.
 */
function ownWaitMs(
  {
    overheadMs,
    stepUnderWayMs,
    queuedPrefillMs,
    ownPrefillMs,
    stepsMs,
    memoryMs,
    adapterMs,
    slotMs,
  }: CostBreakdown,
  { load, engine, step }: EndpointState,
): Millis {
  const stepTokens = Math.min(load.pendingPrefillTokens, engine.prefillTokensMax);
  // Where the step is not known, the prompts in it are half computed, in the mean.
  const halfMs = step.steps === 0 ? (engine.perPrefillTokenMs * stepTokens) / 2 : 0;
  const leftMs = Math.max(0, queuedPrefillMs - halfMs);
  const computedMs = stepUnderWayMs + leftMs + ownPrefillMs + stepsMs;
  return overheadMs + computedMs + memoryMs + adapterMs + slotMs;
}

/** How many requests that begin with so many tokens of this prompt wait for endpoints. */
function waitingAlike({ context, scored, sharedAt }: Scoring, tokens: number): number {
  if (sharedAt === undefined) return 0;
  // What is shared is known in steps of several blocks.
  const least = tokens - SHARED_STEP_BLOCKS * context.request.prompt.blockTokens;
  let waiting = 0;
  for (const endpoint of scored) {
    const shared = sharedAt(endpoint);
    if (shared !== undefined && shared.tokens > least) waiting += shared.requests;
  }
  return waiting;
}

function keyOf({ words }: PromptBlocks, block: number): number {
  const high = (words[2 * block + 1] as number) & HIGH_BITS;
  return high * LOW_RANGE + (words[2 * block] as number);
}
