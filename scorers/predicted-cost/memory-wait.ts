import {
  queueingDelayForOthersMs,
  RECENT_MS,
  rateOfStaying,
} from '../../src/cost-model/queueing-delay.ts';
import type { Millis } from '../../src/framework/runtime.ts';
import type { EndpointState, RequestCost } from './cost-facts.ts';

/**
 * The use of memory is taken for distributed as a triangle: close to the normal distribution, with
 * an end, and much faster to compute. Half of its width, squared, is 6 variances.
 */
const WIDTH_SQUARED = 6;

/**
 * How long a request waits until there is memory for it: as much of the time of an answer as the
 * memory in use is expected to be above all memory, as a share of it. That is 0 at most endpoints,
 * so that what is rare is not here.
 */
export function memoryWaitMs(request: RequestCost, state: EndpointState, stepMs: Millis): Millis {
  const freeTokens = state.capacityTokens - usedTokens(request, state);
  const variance = usedTokensVariance(request, state);
  if (freeTokens >= 0 && freeTokens * freeTokens >= WIDTH_SQUARED * variance) return 0;
  const aboveTokens = expectedExcess(-freeTokens, Math.sqrt(WIDTH_SQUARED * variance));
  return (request.outputTokens * stepMs * aboveTokens) / state.capacityTokens;
}

/** This request's own part of the memory in use. */
function ownTokens({ promptTokens, outputTokens }: RequestCost, cachedTokens: number): number {
  return Math.max(0, promptTokens - cachedTokens) + outputTokens / 2;
}

/**
 * The memory in use with this request: what the engine reports, plus what it has yet to give to
 * requests on their way. Answers under way take more as they grow, but others end meanwhile and give
 * theirs back: of answers of all ages these are as much. With the growth in it all endpoints became
 * full at the same time, and a new request waited wherever it went.
 */
function usedTokens(request: RequestCost, state: EndpointState): number {
  const { heldTokens, load, cachedTokens } = state;
  return heldTokens + load.pendingPrefillTokens + ownTokens(request, cachedTokens);
}

/**
 * By how much the memory in use varies while an answer is written, in tokens squared: requests come
 * and end by chance. Ours are as large as they are in the mean, with this one. What is held beyond
 * them is held by requests of others: these are as large as all that the engine reports as running,
 * or as ours where it reports none. What requests share stays: as much of each as of this one.
 */
function usedTokensVariance(
  { promptTokens, outputTokens }: RequestCost,
  { load: { requests, contextTokens }, heldTokens, heldByEach, cachedTokens }: EndpointState,
): number {
  const wholeTokens = Math.max(1, promptTokens + outputTokens);
  const eachTokens = (contextTokens + wholeTokens) / (requests + 1);
  const othersTokens = Math.max(0, heldTokens - contextTokens);
  const ownShare = (Math.max(0, promptTokens - cachedTokens) + outputTokens) / wholeTokens;
  const whole = requests * eachTokens * eachTokens + othersTokens * (heldByEach || eachTokens);
  return whole * ownShare * ownShare;
}

/**
 * How much of what has this mean is above 0, in the mean, where it is distributed as a triangle from
 * `mean - width` to `mean + width`.
 */
function expectedExcess(mean: number, width: number): number {
  const tail = Math.max(0, width - Math.abs(mean));
  return Math.max(0, mean) + (tail === 0 ? 0 : (tail * tail * tail) / (6 * width * width));
}

/**
 * What is left of the wait for memory when the prompts before are computed: answers end meanwhile.
 * All of it where the prompts that were sent there do not fit beside what is in memory: they wait
 * for memory, too, and are not computed meanwhile.
 */
export function memoryWaitLeftMs(
  waitMs: Millis,
  { load, heldTokens, capacityTokens }: EndpointState,
  queuedPrefillMs: Millis,
): Millis {
  if (waitMs === 0) return 0;
  const sentTokens = load.sentPrefillTokens ?? load.pendingPrefillTokens;
  const isFull = heldTokens + sentTokens >= capacityTokens;
  return isFull ? waitMs : Math.max(0, waitMs - queuedPrefillMs);
}

/** Requests in memory stay longer by the time in which this prompt is computed. */
export function memoryDelayForOthersMs(
  request: RequestCost,
  state: EndpointState,
  stepMs: Millis,
  ownPrefillMs: Millis,
): number {
  const { capacityTokens, cachedTokens } = state;
  const residenceMs = request.outputTokens * stepMs;
  const share = usedTokens(request, state) / capacityTokens;
  const ownShare = ownTokens(request, cachedTokens) / capacityTokens;
  const occupiedMs = ownShare * residenceMs + share * ownPrefillMs;
  const full = { requestsPerMs: laterPerMs(state, residenceMs), utilization: share };
  return queueingDelayForOthersMs(full, memoryWaitMs(request, state, stepMs), occupiedMs);
}

/** The rate of later requests. What is in flight is summed up only where it counts. */
function laterPerMs(
  { traffic: { requestsPerMs }, capacityTokens, requestsPerToken }: EndpointState,
  residenceMs: Millis,
): number {
  if (residenceMs <= RECENT_MS) return requestsPerMs;
  return rateOfStaying(requestsPerMs, requestsPerToken() * capacityTokens, residenceMs);
}
