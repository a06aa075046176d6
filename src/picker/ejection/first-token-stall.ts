import { type Endpoint, type EndpointId, isFresh } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { EjectionPlan } from './ejection-plan.ts';
import type { EndpointHealth } from './endpoint-health.ts';

/** How often endpoints are looked at; decisions in between find what was found last. */
export const STALL_CHECK_MS: Millis = 100;
/** A prediction of the first token can be wrong by a factor, such as for another accelerator. */
const TIMES_EXPECTED = 8;
/** It must be so many times as late as first tokens of others were meanwhile. */
const TIMES_OTHERS = 2;
/** The bound while few first tokens have been seen, and where a request may wait for memory. */
const PATIENT_MS = 30_000;
/** First tokens after which predictions are good enough. */
const FIRST_TOKENS_LEARNED = 20;
/** With more KV memory in use, requests may wait for memory. */
const MEMORY_SHARE_MAX = 0.85;

interface StallInput {
  /** The endpoints as they are now. */
  readonly pool: { get(id: EndpointId): Endpoint | undefined };
  /** How many first tokens the pool has given. */
  readonly firstTokens: number;
  /** When the newest request was sent of those whose answers this process has read. */
  readonly answeredSentAt: Millis;
  readonly plan: EjectionPlan;
}

/** What owes a first token for too long. */
export interface Stalls {
  /** Ejected endpoints whose trials have no first token after what it may take. */
  readonly failedTrials: readonly EndpointHealth[];
  /** The others that owe a first token for too long. */
  readonly stalled: readonly EndpointHealth[];
}

/**
 * Finds the endpoints that owe first tokens for too long while others give theirs. Where those of
 * others come late as well, this process or the network is late, or the pool has too much to do.
 */
export function stalledAmong(
  known: Iterable<EndpointHealth>,
  at: Millis,
  input: StallInput,
): Stalls {
  const failedTrials: EndpointHealth[] = [];
  const stalled: EndpointHealth[] = [];
  const others: EndpointHealth[] = [];
  for (const health of known) {
    if (health.ejected !== undefined) {
      if (isTrialStalled(health, at, input.plan)) failedTrials.push(health);
    } else (isStalled(health, at, input) ? stalled : others).push(health);
  }
  return {
    failedTrials,
    stalled: stalled.filter((health) => isLateAlone(health, others, at)),
  };
}

function isLateAlone(
  health: EndpointHealth,
  others: readonly EndpointHealth[],
  at: Millis,
): boolean {
  const owedSince = health.oldestOwed?.[0].at ?? Number.POSITIVE_INFINITY;
  if (!others.some(({ progressAt }) => progressAt > owedSince)) return false;
  const late = others.filter(({ firstTokenAt }) => firstTokenAt > owedSince);
  const lateMs = Float64Array.from(late, (each) => each.lateMs).sort();
  const usualMs = lateMs[(lateMs.length - 1) >> 1] ?? 0;
  return at - Math.max(owedSince, health.progressAt) >= TIMES_OTHERS * usualMs;
}

/**
 * Whether an endpoint owes a first token for too long: longer than the least bound and than several
 * times what was expected, and in that time it has given no other first token and ended no request.
 * The time ends when the newest request was sent that has an answer: this process may be late, and
 * not have read what came since.
 */
function isStalled(
  { endpoint: added, oldestOwed, progressAt }: EndpointHealth,
  at: Millis,
  { pool, firstTokens, answeredSentAt, plan }: StallInput,
): boolean {
  if (oldestOwed === undefined) return false;
  const [routed, expectedMs] = oldestOwed;
  const silentMs = Math.min(at, answeredSentAt) - Math.max(routed.at, progressAt);
  if (silentMs < plan.firstTokenStallMs) return false;
  const endpoint = pool.get(added.id) ?? added;
  const isFull = endpoint.metrics.kvCacheUsage > MEMORY_SHARE_MAX;
  const isPatient = firstTokens < FIRST_TOKENS_LEARNED || (isFull && isFresh(endpoint, at));
  const boundMs = boundOf(expectedMs, plan);
  return silentMs >= (isPatient ? Math.max(PATIENT_MS, boundMs) : boundMs);
}

function isTrialStalled(
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
