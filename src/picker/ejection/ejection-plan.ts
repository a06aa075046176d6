import type { Millis } from '../../framework/runtime.ts';

/** When an endpoint is taken out of the candidates, and when it is tried again. */
export interface EjectionPlan {
  readonly enabled: boolean;
  /** An endpoint with so many failures in succession is ejected. */
  readonly consecutiveFailures: number;
  /**
   * An endpoint is ejected if this percentage of its requests of about ten seconds failed, well
   * above that of others.
   */
  readonly failurePercent: number;
  /**
   * An endpoint without a first token for so long, while others give some, is ejected; for long
   * prompts the time is longer.
   */
  readonly firstTokenStallMs: Millis;
  /**
   * An endpoint that answers neither requests nor scrapes for this long, while others do, is
   * ejected; 0: never. It gets no new requests long before that.
   */
  readonly silenceMs: Millis;
  /** The first ejection lasts so long; each that soon follows twice as long, up to the maximum. */
  readonly backoffMs: Millis;
  readonly backoffMaxMs: Millis;
  /** So many requests must succeed before the endpoint is back; more where only a part failed. */
  readonly trials: number;
}

export const DEFAULT_EJECTION: EjectionPlan = {
  enabled: true,
  consecutiveFailures: 3,
  failurePercent: 10,
  firstTokenStallMs: 1500,
  silenceMs: 500,
  backoffMs: 1000,
  // With the trials it leaves an endpoint that has recovered out for less than ten seconds.
  backoffMaxMs: 7000,
  trials: 4,
};

/** The plan that ejects as given, unless its configuration says how. */
export function withEjection<
  Plan extends {
    readonly ejection?: EjectionPlan | undefined;
    readonly effective: { readonly ejection?: EjectionPlan };
  },
>(plan: Plan, ejection: EjectionPlan | undefined): Plan {
  if (plan.ejection !== undefined || ejection === undefined) return plan;
  return { ...plan, ejection, effective: { ...plan.effective, ejection } };
}

export const EJECTION_REASONS = [
  'consecutive-failures',
  'failure-share',
  'not-reached',
  'first-token-stall',
  'silent',
  'trial-failed',
  'failed-again',
] as const;

export type EjectionReason = (typeof EJECTION_REASONS)[number];

/** An endpoint that is out of the candidates. */
export interface Ejected {
  readonly reason: EjectionReason;
  readonly since: Millis;
  /** When it is tried again at the earliest. */
  readonly until: Millis;
}
