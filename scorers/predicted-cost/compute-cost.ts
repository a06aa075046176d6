import {
  queueingDelayForOthersMs,
  RECENT_MS,
  rateOfStaying,
  type Traffic,
} from '../../src/cost-model/queueing-delay.ts';
import { decodeStepMs, prefillSteps, promptMs } from '../../src/cost-model/step-time.ts';
import type { InFlightLoad, StepTime, StepUnderWay } from '../../src/framework/cycle-facts.ts';
import type { Millis } from '../../src/framework/runtime.ts';

/**
 * The use of memory is taken for distributed as a triangle: close to the normal distribution, with
 * an end, and much faster to compute. Half of its width, squared, is 6 variances.
 */
const WIDTH_SQUARED = 6;
/** Milliseconds of waiting that count for one by which a prompt interrupts an answer under way. */
const HELD_UP_WEIGHT = 0.15;
/**
 * Milliseconds of waiting that count for one by which answers take longer: few, to decide only
 * between near equals.
 */
const ANSWER_WEIGHT = 0.02;

/** What the cost of a request depends on, apart from the endpoint. */
export interface RequestCost {
  readonly promptTokens: number;
  /** The expected length of the answer. */
  readonly outputTokens: number;
  /** Whether it is no matter how long others wait for it: see `InFlightView.isCrowdedOut`. */
  readonly isCrowdedOut: boolean;
}

/** What the cost of a request on an endpoint depends on. */
export interface EndpointState {
  readonly load: InFlightLoad;
  readonly engine: StepTime;
  readonly traffic: Traffic;
  /** What is computed of the pending prompts, where it counts. */
  readonly computedMs: number;
  readonly step: StepUnderWay;
  readonly cachedTokens: number;
  readonly capacityTokens: number;
  /** KV memory in use, in tokens, as the engine last reported it. */
  readonly heldTokens: number;
  /** What each request that runs there holds in the mean, of all pickers; 0 where none is reported. */
  readonly heldByEach: number;
  /** The wait for the adapter's slot, or for its load. */
  readonly adapterMs: number;
  /** The wait until one of the requests that the server runs has ended. */
  readonly slotMs: number;
  /** The penalty for a recent failure. */
  readonly suspectMs: number;
  /** The penalty where the request is longer than what the endpoint takes. */
  readonly tooLongMs: number;
  /** The last sample is too old to rely on. */
  readonly stale: boolean;
  /**
   * Requests in flight for each token of memory, over the endpoints that are scored together. What
   * one of them got says little of what it will get: a few requests, chosen by their cost there.
   */
  readonly requestsPerToken: () => number;
}

/**
 * What a request costs on an endpoint, in milliseconds of waiting for first tokens: how long it
 * waits itself, and by how much it delays other requests. `costMs` is the sum of all terms before
 * it that are in milliseconds.
 */
export type CostBreakdown = {
  /** Tokens of this prompt that the endpoint is expected to hold. */
  cachedTokens: number;
  /** Overhead of every first token. */
  overheadMs: number;
  /** What is left of the step under way, with the prompts that are computed in it. */
  stepUnderWayMs: number;
  /** Prompts sent there before that are computed after it. */
  queuedPrefillMs: number;
  ownPrefillMs: number;
  /** The steps until the first token, with the tokens that are decoded in them. */
  stepsMs: number;
  /** By how much later requests wait longer because of this prompt. */
  queueingDelayForOthersMs: number;
  /** Answers under way stand still while the prompt is computed. */
  heldUpMs: number;
  /** Answers take longer, the more of them are written together. */
  answersMs: number;
  /** The wait until there is KV memory for the request, after the prompts before it. */
  memoryMs: number;
  /** By how much later requests wait longer for the memory that it holds. */
  memoryDelayForOthersMs: number;
  adapterMs: number;
  /** The wait until one of the requests ends that the server runs: it has shown that it runs no more. */
  slotMs: number;
  suspectMs: number;
  /** The endpoint would refuse it, because it is longer than the context window there. */
  tooLongMs: number;
  /** What earlier requests have paid for a copy of this prompt's beginning: at most 0. */
  paidMs: number;
  /** 1 where the sample is stale, else 0. */
  stale: number;
  costMs: number;
};

/**
 * Returns the `costMs` of a request. Its terms go into `terms`, if given: they are written only for
 * explanations, because hundreds of endpoints are scored for each of which nothing shall be stored.
 */
export function computeCost(
  request: RequestCost,
  state: EndpointState,
  terms?: CostBreakdown,
): number {
  const { load, engine, step, traffic, adapterMs, slotMs, suspectMs, tooLongMs } = state;
  const uncachedTokens = Math.max(0, request.promptTokens - state.cachedTokens);
  const stepMs = decodeStepMs(load.requests, load.contextTokens, engine);
  const nextTokens = Math.max(0, load.pendingPrefillTokens - step.tokens);
  const pendingMs = engine.perPrefillTokenMs * nextTokens;
  const queuedPrefillMs = Math.max(0, pendingMs - state.computedMs);
  const ownPrefillMs = promptMs({ promptTokens: request.promptTokens, uncachedTokens }, engine);
  const stepsMs = stepMs * prefillSteps(nextTokens + uncachedTokens, engine);
  const backlogMs = step.restMs + queuedPrefillMs + stepMs;
  const delayMs = queueingDelayForOthersMs(traffic, backlogMs, ownPrefillMs);
  const heldUpMs = request.isCrowdedOut ? 0 : HELD_UP_WEIGHT * load.requests * ownPrefillMs;
  const answersMs = ANSWER_WEIGHT * slowedAnswersMs(request, state, stepMs);
  const memoryMs = memoryWaitLeftMs(memoryWaitMs(request, state, stepMs), state, queuedPrefillMs);
  const counts = memoryMs > 0 && !request.isCrowdedOut;
  const memoryDelayMs = counts ? memoryDelayForOthersMs(request, state, stepMs, ownPrefillMs) : 0;
  const costMs =
    engine.overheadMs +
    step.restMs +
    queuedPrefillMs +
    ownPrefillMs +
    stepsMs +
    delayMs +
    heldUpMs +
    answersMs +
    memoryMs +
    memoryDelayMs +
    adapterMs +
    slotMs +
    suspectMs +
    tooLongMs;
  if (terms === undefined) return costMs;
  copyKnown(terms, request, state);
  terms.queuedPrefillMs = queuedPrefillMs;
  terms.ownPrefillMs = ownPrefillMs;
  terms.stepsMs = stepsMs;
  terms.queueingDelayForOthersMs = delayMs;
  terms.heldUpMs = heldUpMs;
  terms.answersMs = answersMs;
  terms.memoryMs = memoryMs;
  terms.memoryDelayForOthersMs = memoryDelayMs;
  terms.costMs = costMs;
  return costMs;
}

/** The terms that are not computed here. */
function copyKnown(terms: CostBreakdown, request: RequestCost, state: EndpointState): void {
  terms.cachedTokens = Math.min(state.cachedTokens, request.promptTokens);
  terms.overheadMs = state.engine.overheadMs;
  terms.stepUnderWayMs = state.step.restMs;
  terms.adapterMs = state.adapterMs;
  terms.slotMs = state.slotMs;
  terms.suspectMs = state.suspectMs;
  terms.tooLongMs = state.tooLongMs;
  terms.paidMs = 0;
  terms.stale = state.stale ? 1 : 0;
}

/** How long its own answer takes, and by how much it makes those under way longer. */
function slowedAnswersMs(
  { promptTokens, outputTokens, isCrowdedOut }: RequestCost,
  { load, engine }: EndpointState,
  stepMs: number,
): number {
  if (isCrowdedOut) return outputTokens * stepMs;
  const addedMs = engine.perSequenceMs + engine.perContextTokenMs * promptTokens;
  return outputTokens * (stepMs + load.requests * addedMs);
}

/**
 * How long a request waits until there is memory for it: as much of the time of an answer as the
 * memory in use is expected to be above all memory, as a share of it. That is 0 at most endpoints,
 * so that what is rare is not here.
 */
function memoryWaitMs(request: RequestCost, state: EndpointState, stepMs: Millis): Millis {
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
function memoryWaitLeftMs(
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
function memoryDelayForOthersMs(
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

export function emptyBreakdown(): CostBreakdown {
  return {
    cachedTokens: 0,
    overheadMs: 0,
    stepUnderWayMs: 0,
    queuedPrefillMs: 0,
    ownPrefillMs: 0,
    stepsMs: 0,
    queueingDelayForOthersMs: 0,
    heldUpMs: 0,
    answersMs: 0,
    memoryMs: 0,
    memoryDelayForOthersMs: 0,
    adapterMs: 0,
    slotMs: 0,
    suspectMs: 0,
    tooLongMs: 0,
    paidMs: 0,
    stale: 0,
    costMs: 0,
  };
}
