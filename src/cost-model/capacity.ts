import type { InFlightLoad, StepTime } from '../framework/cycle-facts.ts';
import type { Millis } from '../framework/runtime.ts';
import { decodeStepMs, type PromptSize, predictedTtftMs, prefillSteps } from './step-time.ts';

/** One request in so many may miss its first token's objective because of others. */
const MISSES = 20;
const NO_LOAD: InFlightLoad = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };

/** The times within which an answer counts as goodput. */
export interface LatencyObjective {
  /** The first token comes sooner than this. */
  readonly ttftMs: Millis;
  /** Each further token takes less than this, on average. */
  readonly tpotMs: Millis;
}

/**
 * The mean request of recent traffic at one stage. Prompts or answers that it does not have are 0.
 */
export interface RequestMix {
  readonly promptTokens: number;
  /** Prompt tokens that are computed there. */
  readonly uncachedTokens: number;
  /** The mean of their squares. */
  readonly uncachedSquares: number;
  readonly outputTokens: number;
  /**
   * The mean of the prompts that an idle endpoint answers in time, and their share of all. The first
   * tokens of the others are late on any number of endpoints.
   */
  readonly inTime: PromptSize & { readonly share: number };
}

/** Whether the first token of a prompt comes in time from an endpoint that has nothing else to do. */
export function isInTime(
  prompt: PromptSize,
  engine: StepTime,
  { ttftMs }: LatencyObjective,
): boolean {
  return predictedTtftMs(NO_LOAD, prompt, engine) < ttftMs;
}

/** Memory of an endpoint in tokens; infinity where its size is not known. */
interface Memory {
  readonly heldTokens: number;
  readonly capacityTokens: number;
}

/**
 * The saturation of an endpoint: above 1, one more request of the mix lowers goodput. It is the
 * largest of three shares: its first token's time of the objective, the step that all answers would
 * have with it of the objective, and the KV memory with it of all there is. A time that an idle
 * endpoint misses says nothing of the load.
 */
export function saturationOf(
  load: InFlightLoad,
  { heldTokens, capacityTokens }: Memory,
  {
    engine,
    mix,
    objective,
  }: {
    readonly engine: StepTime;
    readonly mix: RequestMix;
    readonly objective: LatencyObjective;
  },
): number {
  const contextTokens = load.contextTokens + mix.promptTokens;
  const memoryTokens =
    heldTokens + load.pendingPrefillTokens + mix.uncachedTokens + mix.outputTokens;
  return Math.max(
    mix.inTime.share <= 1 / MISSES
      ? 0
      : predictedTtftMs(load, mix.inTime, engine) / objective.ttftMs,
    mix.outputTokens === 0 || engine.baseMs >= objective.tpotMs
      ? 0
      : decodeStepMs(load.requests + 1, contextTokens, engine) / objective.tpotMs,
    memoryTokens / capacityTokens,
  );
}

export const CAPACITY_LIMITS = ['first-token', 'next-token', 'memory', 'concurrency'] as const;
/** What ends the goodput of an endpoint first. */
export type CapacityLimit = (typeof CAPACITY_LIMITS)[number];

export interface Capacity {
  readonly requestsPerMs: number;
  readonly limit: CapacityLimit;
}

export interface CapacityInput {
  readonly engine: StepTime;
  readonly mix: RequestMix;
  readonly objective: LatencyObjective;
  /** How many engines share the requests: with more, fewer wait behind a long prompt. */
  readonly engines: number;
  readonly capacityTokens: number;
  /** Requests that may be in flight; infinity for any number. */
  readonly maxConcurrency: number;
}

/** Engines are never planned busier, and never idler, than this because of first tokens. */
const BUSY_MAX = 0.97;
const BUSY_MIN = 0.2;

/**
 * The most requests of the mix that an engine can serve in a millisecond with goodput. With the
 * time w that a request takes of an engine, beside the fixed time b of a step, λ requests leave 1 −
 * λw of the time for fixed times, so that a step takes b / (1 − λw), and λ · output · b / (1 − λw)
 * requests are in flight. First tokens wait as in an M/G/n queue: the share that waits longer than
 * t falls as e^(−n (1 − λw) t / r), where r is the mean time left of a prompt that is computed.
 * What is late on an idle endpoint is no reason to have more of them.
 */
export function capacityOf(input: CapacityInput): Capacity {
  const { engine, mix, objective, engines, capacityTokens, maxConcurrency } = input;
  const { baseMs, perPrefillTokenMs, perSequenceMs, perContextTokenMs } = engine;
  const { promptTokens, uncachedTokens, uncachedSquares, outputTokens } = mix;
  const contextTokens = promptTokens + outputTokens / 2;
  const answerMs = outputTokens * (perSequenceMs + perContextTokenMs * contextTokens);
  const stepsMs = outputTokens === 0 ? baseMs * prefillSteps(uncachedTokens, engine) : 0;
  const promptMs = perPrefillTokenMs * uncachedTokens;
  const workMs = Math.max(1e-6, promptMs + answerMs + stepsMs);
  const leftMs = uncachedTokens > 0 ? (promptMs * uncachedSquares) / (2 * uncachedTokens ** 2) : 0;
  const { inTime } = mix;
  const misses = Math.max(0, Math.log(MISSES * inTime.share));
  const idle = (misses * leftMs) / (engines * slackMsOf(inTime, engine, objective));
  const busy = Math.min(BUSY_MAX, Math.max(BUSY_MIN, 1 - idle));
  const rates: Record<CapacityLimit, number> = {
    'first-token': busy / workMs,
    // A time per token that an idle engine misses says nothing about its capacity.
    'next-token':
      outputTokens === 0 || baseMs >= objective.tpotMs
        ? Number.POSITIVE_INFINITY
        : (1 - baseMs / objective.tpotMs) / workMs,
    memory: inFlightRate(capacityTokens / Math.max(1, contextTokens), { ...mix, baseMs, workMs }),
    concurrency: inFlightRate(maxConcurrency, { ...mix, baseMs, workMs }),
  };
  const limit = CAPACITY_LIMITS.reduce((a, b) => (rates[b] < rates[a] ? b : a));
  return { requestsPerMs: rates[limit], limit };
}

/** How long a prompt may wait for others and be in time. */
function slackMsOf(prompt: PromptSize, engine: StepTime, { ttftMs }: LatencyObjective): Millis {
  return Math.max(1, ttftMs - predictedTtftMs(NO_LOAD, prompt, engine));
}

/** The rate at which so many requests are in flight: λ · output · b / (1 − λw) solved for λ. */
function inFlightRate(
  requests: number,
  {
    outputTokens,
    baseMs,
    workMs,
  }: { readonly outputTokens: number; readonly baseMs: number; readonly workMs: number },
): number {
  if (!Number.isFinite(requests)) return Number.POSITIVE_INFINITY;
  return requests / (outputTokens * baseMs + requests * workMs);
}
