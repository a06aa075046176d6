import { queueingDelayForOthersMs } from '../../src/cost-model/queueing-delay.ts';
import { decodeStepMs, prefillSteps, promptMs } from '../../src/cost-model/step-time.ts';
import type { EndpointState, RequestCost } from './cost-facts.ts';
import { memoryDelayForOthersMs, memoryWaitLeftMs, memoryWaitMs } from './memory-wait.ts';

/** Milliseconds of waiting that count for one by which a prompt interrupts an answer under way. */
const HELD_UP_WEIGHT = 0.15;
/**
 * Milliseconds of waiting that count for one by which answers take longer: few, to decide only
 * between near equals.
 */
const ANSWER_WEIGHT = 0.02;

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
