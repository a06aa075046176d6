import type { Millis } from '../../framework/runtime.ts';
import type { EjectionPlan, EjectionReason } from './ejection-plan.ts';
import type { EndpointHealth } from './endpoint-health.ts';

/** Fewer failures say nothing about a share. Three count as a little less, because they fade. */
const FAILURES_MIN = 2.5;
/** The share must be so many times that of the others: otherwise the requests are the cause. */
const TIMES_OTHERS = 2;
/** It must be so many standard deviations above, too: with hundreds a second, 3 are common. */
const DEVIATIONS = 4;
/** Failures in succession are no chance where they are less probable than this at the others. */
const CHANCE_MAX = 1e-6;
/** `CHANCE_MAX` for an endpoint that has just come back: it is known to fail. */
const CHANCE_AGAIN_MAX = 5e-4;
/** The share of others of which nothing is known. */
const SHARE_PRIOR = 0.01;

/**
 * Why an endpoint is ejected after a failure; undefined where others fail alike, or it is chance.
 */
export function failureReason(
  health: EndpointHealth,
  known: Iterable<EndpointHealth>,
  { at, plan }: { readonly at: Millis; readonly plan: EjectionPlan },
): EjectionReason | undefined {
  const others = othersShare(health, known, at);
  const { consecutiveFailures } = health;
  const chance = others ** consecutiveFailures;
  if (chance <= CHANCE_AGAIN_MAX && health.onProbation(at)) return 'failed-again';
  if (chance <= CHANCE_MAX && consecutiveFailures >= plan.consecutiveFailures)
    return 'consecutive-failures';
  const [failed, all] = [health.share.failed(at), health.share.all(at)];
  const least = Math.max(plan.failurePercent / 100, TIMES_OTHERS * others);
  const byChance = others * all + DEVIATIONS * Math.sqrt(others * (1 - others) * all);
  return failed / all >= least && failed >= byChance + FAILURES_MIN ? 'failure-share' : undefined;
}

/** The share of failures of all other endpoints. */
function othersShare(health: EndpointHealth, known: Iterable<EndpointHealth>, at: Millis): number {
  let failed = 0;
  let all = 0;
  for (const other of known) {
    if (other === health) continue;
    failed += other.share.failed(at);
    all += other.share.all(at);
  }
  return (failed + SHARE_PRIOR) / (all + 1);
}
