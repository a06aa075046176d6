import { grouped, tenths } from '../framework/values/grouped.ts';
import type { PromotionRule, ShadowEvidence } from './promotion-rule.ts';

/** One thing that the rule asks for before a shadow decides more requests. */
export interface PromotionCondition {
  readonly name: 'decisions' | 'gain' | 'faults' | 'undecided' | 'requests';
  readonly met: boolean;
  /**
   * What there is: decisions, faults, requests; in percent the lower end of the interval, and the
   * share of undecided requests.
   */
  readonly value: number;
  /** The least value with which it is met; the largest for faults and undecided requests. */
  readonly needed: number;
  /** The condition and its state as a sentence for a person. */
  readonly text: string;
}

const NOTHING_YET: ShadowEvidence = {
  gain: {
    decisions: 0,
    percent: Number.NaN,
    meanMs: Number.NaN,
    lowPercent: Number.NaN,
    highPercent: Number.NaN,
  },
  faults: 0,
  undecided: undefined,
  restarts: 0,
};

/** The conditions under which a shadow may begin to decide. */
export function beginConditions(
  { promote, demote }: PromotionRule,
  { gain, faults, undecided, restarts }: ShadowEvidence = NOTHING_YET,
): readonly PromotionCondition[] {
  // One that crashes again and again never runs long enough.
  const decisionsNeeded = promote.decisions * (1 + restarts);
  const since = restarts === 0 ? '' : ` since its last restart (${grouped(restarts)} in all)`;
  const { decisions, lowPercent } = gain;
  const needed = promote.ttftBetterPercent;
  return [
    {
      name: 'decisions',
      met: decisions >= decisionsNeeded,
      value: decisions,
      needed: decisionsNeeded,
      text: `${grouped(decisions)} decisions${since}, ${grouped(decisionsNeeded)} needed`,
    },
    {
      name: 'gain',
      met: lowPercent >= needed,
      value: lowPercent,
      needed,
      text: `${gainText(gain)} (its lower end must be at least ${needed} %)`,
    },
    {
      name: 'faults',
      met: faults === 0,
      value: faults,
      needed: 0,
      text:
        faults === 0
          ? 'no request that only one refuses'
          : `${grouped(faults)} requests that only one refuses, there must be none`,
    },
    ...undecidedCondition(undecided, decisions, demote.failedMorePercent),
  ];
}

function gainText({ percent, meanMs, lowPercent, highPercent }: ShadowEvidence['gain']): string {
  const mean = Number.isFinite(meanMs)
    ? `gain ${tenths(meanMs)} ms (${percent.toFixed(1)} %)`
    : 'gain not known yet';
  const interval = Number.isFinite(lowPercent)
    ? `95 % interval ${lowPercent.toFixed(1)} to ${highPercent.toFixed(1)} %`
    : '95 % interval not known yet';
  return `${mean}, ${interval}`;
}

/**
 * A scheduler in another process is late now and then, on any machine: asking for none would mean
 * that it is never promoted. Nothing where profiles decide.
 */
function undecidedCondition(
  undecided: number | undefined,
  decisions: number,
  mostPercent: number,
): readonly PromotionCondition[] {
  if (undecided === undefined) return [];
  const all = decisions + undecided;
  const percent = all === 0 ? 0 : (100 * undecided) / all;
  const share = `${grouped(undecided)} of ${grouped(all)} requests (${percent.toFixed(2)} %)`;
  return [
    {
      name: 'undecided',
      met: percent <= mostPercent,
      value: percent,
      needed: mostPercent,
      text: `${share} left to its profiles, at most ${mostPercent} % allowed`,
    },
  ];
}

/** Why a shadow may begin to decide, as a sentence; undefined while it may not. */
export function promotionReason(rule: PromotionRule, evidence: ShadowEvidence): string | undefined {
  if (!beginConditions(rule, evidence).every(({ met }) => met)) return undefined;
  const { decisions, percent: better, lowPercent, highPercent } = evidence.gain;
  const interval = `95 % interval ${lowPercent.toFixed(1)} to ${highPercent.toFixed(1)} %`;
  return `its predicted time to a first token is ${better.toFixed(1)} % better (${interval}) over ${grouped(decisions)} decisions, without a fault`;
}

/** The condition for the next step, after `requests` at the present one. */
export function stepCondition(
  { promote: { stepRequests } }: PromotionRule,
  { requests, percent, next }: { requests: number; percent: number; next: number },
): PromotionCondition {
  return {
    name: 'requests',
    met: requests >= stepRequests,
    value: requests,
    needed: stepRequests,
    text: `${grouped(requests)} requests at ${percent} %, ${grouped(stepRequests)} needed before ${next} %`,
  };
}

/** The unmet conditions in one line; empty where all are met. */
export function waitsFor(conditions: readonly PromotionCondition[]): string {
  return conditions
    .filter(({ met }) => !met)
    .map(({ text }) => text)
    .join('; ');
}
