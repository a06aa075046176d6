import { type Endpoint, isFresh } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { EjectionPlan } from './ejection-plan.ts';
import type { EndpointHealth } from './endpoint-health.ts';

/** How often endpoints are looked at; decisions in between find what was found last. */
export const STALL_CHECK_MS: Millis = 100;
/** A prediction of the first token can be wrong by a factor, such as for another accelerator. */
const TIMES_EXPECTED = 8;
/** The bound while predictions have little to go by, and for engines with a good excuse. */
const PATIENT_MS = 30_000;
/** First tokens after which predictions are good enough. */
const FIRST_TOKENS_LEARNED = 20;
/** With more KV memory in use, requests may wait for memory. */
const MEMORY_SHARE_MAX = 0.85;

interface StallInput {
  /** As it is now. */
  readonly endpoint: Endpoint;
  /** How many first tokens the pool has given. */
  readonly firstTokens: number;
  readonly plan: EjectionPlan;
}

/**
 * Whether an endpoint owes a first token for too long: longer than the least bound and than several
 * times what was expected, and in that time it has given no other first token and ended no request.
 */
export function isStalled(
  { awaiting, progressAt }: EndpointHealth,
  at: Millis,
  { endpoint, firstTokens, plan }: StallInput,
): boolean {
  const [oldest] = awaiting;
  if (oldest === undefined) return false;
  const [routed, expectedMs] = oldest;
  const silentMs = at - Math.max(routed.at, progressAt);
  if (silentMs < plan.firstTokenStallMs) return false;
  const isFull = endpoint.metrics.kvCacheUsage > MEMORY_SHARE_MAX;
  const isPatient = firstTokens < FIRST_TOKENS_LEARNED || (isFull && isFresh(endpoint, at));
  const boundMs = boundOf(expectedMs, plan);
  return silentMs >= (isPatient ? Math.max(PATIENT_MS, boundMs) : boundMs);
}

/** Whether a trial of an ejected endpoint has no first token after what it may take. */
export function isTrialStalled(
  { awaiting, trials }: EndpointHealth,
  at: Millis,
  plan: EjectionPlan,
): boolean {
  for (const trial of trials) {
    const expectedMs = awaiting.get(trial);
    if (expectedMs !== undefined && at - trial.at >= boundOf(expectedMs, plan)) return true;
  }
  return false;
}

function boundOf(expectedMs: Millis, { firstTokenStallMs }: EjectionPlan): Millis {
  return Math.max(firstTokenStallMs, TIMES_EXPECTED * expectedMs);
}
