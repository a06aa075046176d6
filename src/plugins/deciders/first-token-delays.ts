import { loadPerEngine } from '../../cost-model/engine-load.ts';
import { queueingDelayForOthersMs, trafficOf } from '../../cost-model/queueing-delay.ts';
import { decodeStepMs, promptMs } from '../../cost-model/step-time.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { ENGINE_MODEL, IN_FLIGHT } from '../../framework/keys.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { SchedulingContext } from '../../framework/scheduling.ts';
import { promptAt } from './prompt-at.ts';

/**
 * By how much later the first tokens of others come because this endpoint, one of `among` that the
 * pick was made from, computes the prompt. They wait for the prompt itself. And n answers under
 * way end later by its time x, so that n x / (1 - ρ) milliseconds of answers are added to those
 * under way; each of them makes the step longer in which a first token comes meanwhile. A prompt
 * delays those behind it less where there are several such endpoints, because later requests go to
 * those that have less to do: its own half is shared by all of them.
 */
export function firstTokenDelaysMs(
  endpoint: Endpoint,
  context: SchedulingContext,
  among: number,
): Millis {
  const model = context.get(ENGINE_MODEL);
  const engine = model.stepTime(endpoint);
  const load = loadPerEngine(context.get(IN_FLIGHT).load(endpoint), endpoint);
  const rate = model.demandRateSinceStart?.(context.now) ?? model.demandRate(context.now);
  const ownMs = promptMs(promptAt(endpoint, context), engine);
  const stepMs = decodeStepMs(load.requests, load.contextTokens, engine);
  const pendingMs = engine.perPrefillTokenMs * load.pendingPrefillTokens;
  const queuedMs = Math.max(0, pendingMs - computedThereMs(endpoint, context));
  const crowdingMs = stepMs - engine.baseMs;
  const sharedMs = (1 - 1 / among) * (ownMs / 2);
  const behindMs = queuedMs + stepMs + crowdingMs - sharedMs;
  return queueingDelayForOthersMs(trafficOf(model.demand(endpoint), rate), behindMs, ownMs);
}

/**
 * The time of prompts that count as pending there and should be computed by now. What was computed
 * for other servers counts as pending until these give first tokens, also while they lack memory.
 */
export function computedThereMs(endpoint: Endpoint, context: SchedulingContext): Millis {
  return context.get(IN_FLIGHT).computedMs?.(endpoint, context.now) ?? 0;
}
