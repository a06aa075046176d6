import { z } from 'zod';
import { queueingDelayForOthersMs, trafficOf } from '../../cost-model/queueing-delay.ts';
import { decodeStepMs, predictedTtftMs } from '../../cost-model/step-time.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { ENGINE_MODEL, IN_FLIGHT, prefixMatchKey } from '../../framework/keys.ts';
import { type DeciderDefinition, defineDecider } from '../../framework/plugin.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { SchedulingContext } from '../../framework/scheduling.ts';

/**
 * Serves the prompt elsewhere when that costs less in total. The cost is the request's own time to
 * a first token; the time by which later requests wait longer (`queueingDelayForOthersMs`), which
 * keeps long prompts out of the way of short ones; and the time by which computing the prompt holds
 * up the answers that are decoded there, since they share its steps. Elsewhere adds the transfer of
 * the KV cache. There is nothing to tune: the time for a prompt is learned, and the link is a fact
 * about the pool.
 */
export const byCost: DeciderDefinition = defineDecider({
  type: 'cost-pd-decider',
  config: z.strictObject({
    /** What should be short: whole answers, or only the wait for first tokens. */
    objective: z.enum(['end-to-end', 'first-token']).default('end-to-end'),
    /** Size of one token's keys and values: 128 KiB for an 8 B model with grouped queries. */
    kvBytesPerToken: z.number().positive().default(131_072),
    /** The speed of one transfer; the default is that of 200 Gb RoCE. */
    linkGigabytesPerSecond: z.number().positive().default(20),
    transferSetupMs: z.number().nonnegative().default(1),
  }),
  needs: () => [ENGINE_MODEL, IN_FLIGHT, prefixMatchKey()],
  create({ objective, kvBytesPerToken, linkGigabytesPerSecond, transferSetupMs }) {
    const others = objective === 'end-to-end' ? 1 : 0;
    const perTokenMs = kvBytesPerToken / (1e6 * linkGigabytesPerSecond);
    return {
      separates: () => true,
      keeps(decode, prefill, context) {
        const uncached = uncachedTokens(decode, context);
        const engine = context.get(ENGINE_MODEL).stepTime(decode);
        const { requests, contextTokens } = context.get(IN_FLIGHT).load(decode);
        const transferMs = transferSetupMs + perTokenMs * uncached;
        // The last token is computed where it is decoded.
        const joinMs = decodeStepMs(requests + 1, contextTokens, engine);
        const there = costMs(prefill, context, others) + transferMs + joinMs;
        return there < costMs(decode, context, others);
      },
    };
  },
});

/**
 * The cost of computing the prompt on this endpoint: for the request, for later requests and, as
 * far as they count, for answers under way.
 */
function costMs(endpoint: Endpoint, context: SchedulingContext, others: number): Millis {
  const model = context.get(ENGINE_MODEL);
  const engine = model.stepTime(endpoint);
  const load = context.get(IN_FLIGHT).load(endpoint);
  const uncached = uncachedTokens(endpoint, context);
  const traffic = trafficOf(model.demand(endpoint), model.demandRate(context.now));
  const promptMs = engine.perPrefillTokenMs * uncached;
  const backlogMs =
    engine.perPrefillTokenMs * load.pendingPrefillTokens +
    decodeStepMs(load.requests, load.contextTokens, engine);
  return (
    predictedTtftMs(load, uncached, engine) +
    queueingDelayForOthersMs(traffic, backlogMs, promptMs) +
    others * load.requests * promptMs
  );
}

function uncachedTokens(endpoint: Endpoint, context: SchedulingContext): number {
  const match = context.get(prefixMatchKey());
  return Math.max(
    0,
    context.request.promptTokens - match.matchedBlocks(endpoint) * match.blockTokens,
  );
}
