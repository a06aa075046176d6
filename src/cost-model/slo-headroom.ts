import {
  ENGINE_MODEL,
  IN_FLIGHT,
  type InFlightView,
  type PrefixMatch,
  prefixMatchKey,
} from '../framework/cycle-facts.ts';
import type { Endpoint } from '../framework/endpoint.ts';
import type { Millis } from '../framework/runtime.ts';
import type { CycleKey, SchedulingContext } from '../framework/scheduling.ts';
import { loadPerEngine } from './engine-load.ts';
import { decodeStepMs, predictedTtftMs, stepUnderWay } from './step-time.ts';

/** Time left of the client's objectives: below 0 for a predicted miss. None counts as 0 ms. */
export interface SloHeadroom {
  readonly ttftMs: Millis;
  readonly tpotMs: Millis;
}

/** The facts that `headroomOf` reads. */
export const HEADROOM_NEEDS: readonly CycleKey<unknown>[] = [
  ENGINE_MODEL,
  IN_FLIGHT,
  prefixMatchKey(),
];

/** The headroom on an endpoint by our model of its engine; the reference asks a trained service. */
export function headroomOf(endpoint: Endpoint, context: SchedulingContext): SloHeadroom {
  const { request } = context;
  const engine = context.get(ENGINE_MODEL).stepTime(endpoint);
  const load = loadPerEngine(context.get(IN_FLIGHT).load(endpoint), endpoint);
  const contextTokens = load.contextTokens + request.promptTokens;
  return {
    ttftMs: (request.ttftSloMs ?? 0) - ttftOn(endpoint, context, context.get(prefixMatchKey())),
    tpotMs: (request.tpotSloMs ?? 0) - decodeStepMs(load.requests + 1, contextTokens, engine),
  };
}

/**
 * The time to the first token that our model expects on an endpoint, where the match says what of
 * the prompt is cached there, and `inFlight` what goes before it. The context needs ENGINE_MODEL,
 * and IN_FLIGHT where no other load is given.
 */
export function ttftOn(
  endpoint: Endpoint,
  context: SchedulingContext,
  match: PrefixMatch,
  inFlight: InFlightView = context.get(IN_FLIGHT),
): Millis {
  const { promptTokens } = context.request;
  const cachedTokens = match.matchedBlocks(endpoint) * match.blockTokens;
  const uncachedTokens = Math.max(0, promptTokens - cachedTokens);
  const all = inFlight.load(endpoint);
  const model = context.get(ENGINE_MODEL);
  const step = stepUnderWay(endpoint, all, model, context.now);
  const prompt = { promptTokens, uncachedTokens };
  return predictedTtftMs(loadPerEngine(all, endpoint), prompt, model.stepTime(endpoint), step);
}
