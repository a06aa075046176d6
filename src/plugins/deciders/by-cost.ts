import { z } from 'zod';
import { loadPerEngine } from '../../cost-model/engine-load.ts';
import { heldShare } from '../../cost-model/held-memory.ts';
import { queueingDelayForOthersMs, trafficOf } from '../../cost-model/queueing-delay.ts';
import {
  decodeStepMs,
  predictedTtftMs,
  promptMs,
  stepUnderWay,
} from '../../cost-model/step-time.ts';
import { ENGINE_MODEL, IN_FLIGHT, prefixMatchKey } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { CACHE_CONFIG } from '../../framework/endpoint-attributes.ts';
import type { Routed } from '../../framework/observer.ts';
import { type DeciderDefinition, defineDecider } from '../../framework/plugin.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Decider, PickedFrom, SchedulingContext } from '../../framework/scheduling.ts';
import { computedThereMs, firstTokenDelaysMs, type Others } from './first-token-delays.ts';
import { FoundTokens } from './found-tokens.ts';
import { HandoverTime } from './handover-time.ts';
import { promptAt } from './prompt-at.ts';

/** Above this share of KV memory requests are expected to wait for it: answers grow. */
const COMFORTABLE_MEMORY_SHARE = 0.8;

const config = z.lazy(() =>
  z.strictObject({
    /** What should be short: whole answers, or only the wait for first tokens. */
    objective: z.enum(['end-to-end', 'first-token']).default('end-to-end'),
    /** Size of one token's keys and values: 128 KiB for an 8 B model with grouped queries. */
    kvBytesPerToken: z.number().positive().default(131_072),
    /** The speed of one transfer; the default is that of 200 Gb RoCE. */
    linkGigabytesPerSecond: z.number().positive().default(20),
    transferSetupMs: z.number().nonnegative().default(1),
  }),
);

/**
 * Serves the prompt elsewhere when that costs less in total. The cost is the request's own time to
 * a first token; the time by which later requests wait longer (`queueingDelayForOthersMs`), which
 * keeps long prompts out of the way of short ones; and the time by which computing the prompt holds
 * up the answers that are decoded there, since they share its steps. For first tokens alone, these
 * count as far as requests wait for the KV memory that they hold. Elsewhere adds the transfer of
 * the KV cache, and a second way into an engine: that which decodes. There is nothing to tune: the
 * time for a prompt is learned, the link is a fact about the pool, and by how much first tokens
 * come later than these two say is learned from them.
 */
export const byCost: DeciderDefinition = defineDecider({
  type: 'cost-pd-decider',
  config,
  needs: () => [ENGINE_MODEL, IN_FLIGHT, prefixMatchKey()],
  create: (parsed) => new CostDecider(parsed),
});

class CostDecider implements Decider {
  readonly #forFirstTokens: boolean;
  readonly #setupMs: Millis;
  readonly #perTokenMs: Millis;
  readonly #handover = new HandoverTime();
  readonly #foundHere = new FoundTokens();
  readonly #foundThere = new FoundTokens();

  constructor({
    objective,
    kvBytesPerToken,
    linkGigabytesPerSecond,
    transferSetupMs,
  }: z.infer<typeof config>) {
    this.#forFirstTokens = objective === 'first-token';
    this.#setupMs = transferSetupMs;
    this.#perTokenMs = kvBytesPerToken / (1e6 * linkGigabytesPerSecond);
  }

  separates(): boolean {
    return true;
  }

  keeps(
    decode: Endpoint,
    prefill: Endpoint,
    context: SchedulingContext,
    pickedFrom?: PickedFrom,
  ): boolean {
    const theirs = { among: pickedFrom?.other ?? 1, found: this.#foundThere };
    const here = { among: pickedFrom?.decode ?? 1, found: this.#foundHere };
    const readyMs = this.#readyMs(decode, prefill, context);
    const thereMs =
      handedOverMs(decode, context, readyMs) + this.#delaysMs(prefill, context, theirs);
    return thereMs < ttftMs(decode, context) + this.#delaysMs(decode, context, here);
  }

  onRouted({ prefill, cachedTokens, prefillCachedTokens = 0 }: Routed): void {
    if (prefill === undefined) this.#foundHere.add(cachedTokens);
    else this.#foundThere.add(prefillCachedTokens);
  }

  onFirstToken(routed: Routed, at: Millis): void {
    const { prefill, request, cachedTokens, load, expectedTtftMs, expectedTpotMs = 0 } = routed;
    if (prefill === undefined || expectedTtftMs === undefined) return;
    // It may have waited for other prompts there, and not for its own.
    if (load.pendingPrefillTokens > 0) return;
    const uncachedTokens = Math.max(0, request.promptTokens - cachedTokens);
    const arrivesAfterMs = expectedTtftMs + this.#transferMs(uncachedTokens);
    this.#handover.learn(arrivesAfterMs, at - routed.at - expectedTpotMs);
  }

  /** Until the decoding endpoint can use the KV of a prompt that is computed at the other one. */
  #readyMs(decode: Endpoint, prefill: Endpoint, context: SchedulingContext): Millis {
    const { uncachedTokens } = promptAt(decode, context);
    const computedMs = this.#forFirstTokens ? computedThereMs(prefill, context) : 0;
    const promptMs = Math.max(0, ttftMs(prefill, context) - computedMs);
    const { overheadMs } = context.get(ENGINE_MODEL).stepTime(decode);
    return this.#handover.expected(promptMs + this.#transferMs(uncachedTokens), overheadMs);
  }

  /** What a prompt that is computed at this endpoint costs others. */
  #delaysMs(endpoint: Endpoint, context: SchedulingContext, others: Others): Millis {
    if (!this.#forFirstTokens) return delaysMs(endpoint, context);
    const heldUpMs = memoryShortage(endpoint, context) * answersHeldUpMs(endpoint, context);
    return firstTokenDelaysMs(endpoint, context, others) + heldUpMs;
  }

  #transferMs(tokens: number): Millis {
    return this.#setupMs + this.#perTokenMs * tokens;
  }
}

/** From 0, while memory is comfortably free, to 1 where it is full. */
function memoryShortage(endpoint: Endpoint, context: SchedulingContext): number {
  const load = loadPerEngine(context.get(IN_FLIGHT).load(endpoint), endpoint);
  const cache = endpoint.attribute(CACHE_CONFIG);
  const capacityTokens = cache ? cache.blocks * cache.blockTokens : Number.POSITIVE_INFINITY;
  const share = heldShare(load, endpoint, capacityTokens);
  const over = (share - COMFORTABLE_MEMORY_SHARE) / (1 - COMFORTABLE_MEMORY_SHARE);
  return Math.min(1, Math.max(0, over));
}

/** Until its first token, if this endpoint computes the prompt. */
function ttftMs(endpoint: Endpoint, context: SchedulingContext): Millis {
  const model = context.get(ENGINE_MODEL);
  const load = context.get(IN_FLIGHT).load(endpoint);
  const step = stepUnderWay(endpoint, load, model, context.now);
  const prompt = promptAt(endpoint, context);
  return predictedTtftMs(loadPerEngine(load, endpoint), prompt, model.stepTime(endpoint), step);
}

/** What computing the prompt on this endpoint costs others: later requests, and answers under way. */
function delaysMs(endpoint: Endpoint, context: SchedulingContext): Millis {
  const model = context.get(ENGINE_MODEL);
  const engine = model.stepTime(endpoint);
  const load = loadPerEngine(context.get(IN_FLIGHT).load(endpoint), endpoint);
  const traffic = trafficOf(model.demand(endpoint), model.demandRate(context.now));
  const ownMs = promptMs(promptAt(endpoint, context), engine);
  const backlogMs =
    engine.perPrefillTokenMs * load.pendingPrefillTokens +
    decodeStepMs(load.requests, load.contextTokens, engine);
  return queueingDelayForOthersMs(traffic, backlogMs, ownMs) + load.requests * ownMs;
}

/** By how much later all answers under way there end together. */
function answersHeldUpMs(endpoint: Endpoint, context: SchedulingContext): Millis {
  const load = loadPerEngine(context.get(IN_FLIGHT).load(endpoint), endpoint);
  const engine = context.get(ENGINE_MODEL).stepTime(endpoint);
  return load.requests * promptMs(promptAt(endpoint, context), engine);
}

/**
 * Until its first token, if the decoding endpoint can use its KV after this time: the request waits
 * for the prompts that were sent there before, as far as they are not computed meanwhile, and its
 * last token is computed in a step.
 */
function handedOverMs(decode: Endpoint, context: SchedulingContext, readyMs: Millis): Millis {
  const engine = context.get(ENGINE_MODEL).stepTime(decode);
  const load = loadPerEngine(context.get(IN_FLIGHT).load(decode), decode);
  const queuedMs = engine.perPrefillTokenMs * load.pendingPrefillTokens;
  return Math.max(readyMs, queuedMs) + decodeStepMs(load.requests + 1, load.contextTokens, engine);
}
