import { loadPerEngine } from '../../cost-model/engine-load.ts';
import { queueingDelayForOthersMs, trafficOf } from '../../cost-model/queueing-delay.ts';
import { decodeStepMs, promptMs } from '../../cost-model/step-time.ts';
import { ENGINE_MODEL, IN_FLIGHT } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { SchedulingContext } from '../../framework/scheduling.ts';
import type { FoundTokens } from './found-tokens.ts';
import { promptAt } from './prompt-at.ts';

/** Where a prompt would be computed, beside the endpoint that was picked. */
export interface Others {
  /** How many endpoints the pick was made from. */
  readonly among: number;
  /** What those that come next are expected to find. */
  readonly found: FoundTokens;
}

/**
 * By how much later the first tokens of others come because this endpoint computes the prompt: they
 * wait for it, and for the step. A prompt delays those behind it less where there are several such
 * endpoints, because later requests go to those that have less to do, as far as that costs them
 * less than the wait: its own half is shared by all of them so far.
 */
export function firstTokenDelaysMs(
  endpoint: Endpoint,
  context: SchedulingContext,
  { among, found }: Others,
): Millis {
  const model = context.get(ENGINE_MODEL);
  const engine = model.stepTime(endpoint);
  const load = loadPerEngine(context.get(IN_FLIGHT).load(endpoint), endpoint);
  const rate = model.demandRateSinceStart?.(context.now) ?? model.demandRate(context.now);
  const ownMs = promptMs(promptAt(endpoint, context), engine);
  const stepMs = decodeStepMs(load.requests, load.contextTokens, engine);
  const pendingMs = engine.perPrefillTokenMs * load.pendingPrefillTokens;
  const queuedMs = Math.max(0, pendingMs - computedThereMs(endpoint, context));
  const sharedMs = (1 - 1 / among) * found.avoidedMs(ownMs, engine.perPrefillTokenMs);
  const behindMs = queuedMs + stepMs - sharedMs;
  return queueingDelayForOthersMs(trafficOf(model.demand(endpoint), rate), behindMs, ownMs);
}

/**
 * The time of prompts that count as pending there and should be computed by now. What was computed
 * for other servers counts as pending until these give first tokens, also while they lack memory.
 */
export function computedThereMs(endpoint: Endpoint, context: SchedulingContext): Millis {
  return context.get(IN_FLIGHT).computedMs?.(endpoint, context.now) ?? 0;
}
