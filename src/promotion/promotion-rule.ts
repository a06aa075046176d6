import { z } from 'zod';
import { grouped } from '../framework/values/grouped.ts';
import type { ArmReport } from './arm-tally.ts';
import type { GainReport } from './paired-gain.ts';
import type { FailureCount } from './recent-failures.ts';

const percent = z.number().min(0).max(100);

/** The rule by which a shadow is promoted and demoted automatically. */
export const promotionRule: z.ZodType<PromotionRule, unknown> = z.lazy(() =>
  z.strictObject({
    /** The name of a `--shadow`, as given on the command line. */
    shadow: z.string().min(1),
    promote: z
      .strictObject({
        decisions: z.int().min(1).default(10_000),
        ttftBetterPercent: percent.default(3),
        stepsPercent: z
          .array(percent)
          .min(1)
          .max(20)
          .refine((steps) => steps.every((step, at) => at === 0 || step > (steps[at - 1] ?? 0)), {
            message: 'must rise from step to step',
          })
          .default([5, 25, 50, 95]),
        stepRequests: z.int().min(1).default(2000),
      })
      .prefault({}),
    demote: z
      .strictObject({
        latencyWorsePercent: percent.default(0),
        requests: z.int().min(30).default(200),
        failedMorePercent: percent.default(1),
      })
      .prefault({}),
  }),
);

export interface PromotionRule {
  readonly shadow: string;
  readonly promote: {
    /**
     * The least number of decisions as a shadow with predictions of both, since its start; as many
     * again for each time that it was restarted.
     */
    readonly decisions: number;
    /** Least gain in mean predicted TTFT, at the lower end of its 95 % interval. */
    readonly ttftBetterPercent: number;
    /** Successive shares of requests. Below 100 some requests stay for comparison. */
    readonly stepsPercent: readonly number[];
    /** Requests that it must have decided before the next step. */
    readonly stepRequests: number;
  };
  readonly demote: {
    /** The shadow is demoted when its observed latency is certainly worse by more than this. */
    readonly latencyWorsePercent: number;
    /** The least number of requests of each before they are compared. */
    readonly requests: number;
    /**
     * Without enough requests beside it, as at 100 %: the shadow is demoted when its share of
     * failed requests is certainly higher than before by more than this many percentage points. At
     * any share, when its scheduler certainly leaves more than this to the profiles beside it.
     */
    readonly failedMorePercent: number;
  };
}

/** What is known of a shadow before it is promoted. */
export interface ShadowEvidence {
  readonly gain: GainReport;
  /** Requests that only one of the two refused. */
  readonly faults: number;
  /** Requests that its scheduler left to its profiles; undefined where it has only profiles. */
  readonly undecided: number | undefined;
  /** How often it was started again. All else is known since the last time. */
  readonly restarts: number;
}

export interface ArmReports {
  readonly challenger: ArmReport;
  readonly incumbent: ArmReport;
  /** Recent failures; those of the configuration in charge from before the promotion count, too. */
  readonly recent: {
    readonly challenger: FailureCount;
    readonly incumbent: FailureCount;
    /** What the challenger's scheduler left to its profiles, without an answer of use. */
    readonly undecided: FailureCount;
  };
}

/** The comparison is repeated every second, so what is called certain must be far from chance. */
const STANDARD_ERRORS = 4;

/** Why it must not decide any more; undefined while it may. */
export function demotionReason(
  demote: PromotionRule['demote'],
  arms: ArmReports,
): string | undefined {
  const { challenger, incumbent, recent } = arms;
  const undecided = leavesUndecided(arms, demote);
  if (undecided !== undefined) return undecided;
  let fails: string | undefined;
  if (challenger.requests >= demote.requests) {
    fails =
      incumbent.requests < demote.requests
        ? failsMoreThanBefore(recent, demote.failedMorePercent)
        : failsMore(challenger, incumbent);
  }
  const timed = Math.min(challenger.latency.count, incumbent.latency.count);
  if (fails !== undefined || timed < demote.requests) return fails;
  return answersLater(arms, demote.latencyWorsePercent);
}

/** Compares two shares by the pooled normal approximation. */
function failsMore(one: ArmReport, other: ArmReport): string | undefined {
  const [share, otherShare] = [one.failed / one.requests, other.failed / other.requests];
  const pooled = (one.failed + other.failed) / (one.requests + other.requests);
  const error = Math.sqrt(pooled * (1 - pooled) * (1 / one.requests + 1 / other.requests));
  if (!(share - otherShare > STANDARD_ERRORS * error)) return undefined;
  return `${grouped(one.failed)} of its ${grouped(one.requests)} requests failed, but only ${grouped(other.failed)} of ${grouped(other.requests)} of the configuration in charge`;
}

/**
 * Compares the latest requests of the shadow with those of the configuration in charge before it.
 * No failures before are as good as none, so that a promotion right after the start is watched,
 * too.
 */
function failsMoreThanBefore(
  { challenger, incumbent }: ArmReports['recent'],
  morePercent: number,
): string | undefined {
  const [now, before] = [shareOf(challenger), shareOf(incumbent)];
  const error = Math.sqrt(varianceOf(challenger) + varianceOf(incumbent));
  if (!(now - before - morePercent / 100 > STANDARD_ERRORS * error)) return undefined;
  return `${grouped(challenger.failed)} of its latest ${grouped(challenger.requests)} requests failed, but only ${grouped(incumbent.failed)} of ${grouped(incumbent.requests)} of the configuration in charge before`;
}

/**
 * The profiles beside a scheduler keep requests safe, but only the scheduler has proved better: they
 * must not decide in its place for long. A module that has thrown once will throw again.
 */
function leavesUndecided(
  { challenger, recent: { undecided } }: ArmReports,
  { requests, failedMorePercent }: PromotionRule['demote'],
): string | undefined {
  const { threw = 0 } = challenger.undecided;
  if (threw > 0) return `its scheduler threw, at ${grouped(threw)} of its requests`;
  if (undecided.requests < requests) return undefined;
  const error = Math.sqrt(varianceOf(undecided));
  if (!(shareOf(undecided) - failedMorePercent / 100 > STANDARD_ERRORS * error)) return undefined;
  // The sentence has no counts of reasons: they are of all requests, and not of the latest.
  const reasons = mostFrequentFirst(challenger.undecided).map(([reason]) => reason);
  return `its scheduler left ${grouped(undecided.failed)} of its latest ${grouped(undecided.requests)} requests to the profiles: ${reasons.join(', ')}`;
}

/** Such as `deadline 40, disconnected 2`, the most frequent first. */
export function reasonsText(undecided: ArmReport['undecided']): string {
  return mostFrequentFirst(undecided)
    .map(([reason, count]) => `${reason} ${grouped(count)}`)
    .join(', ');
}

function mostFrequentFirst(undecided: ArmReport['undecided']): readonly [string, number][] {
  return Object.entries(undecided).toSorted(([, one], [, other]) => other - one);
}

function shareOf({ failed, requests }: FailureCount): number {
  return requests === 0 ? 0 : failed / requests;
}

/** The variance of the failed share, as of a binomial proportion. */
function varianceOf(count: FailureCount): number {
  const share = shareOf(count);
  return count.requests === 0 ? 0 : (share * (1 - share)) / count.requests;
}

/** Compares two means by Welch's test. */
function answersLater(
  { challenger, incumbent }: ArmReports,
  worsePercent: number,
): string | undefined {
  const [one, other] = [challenger.latency, incumbent.latency];
  const error = Math.sqrt(one.varianceMs2 / one.count + other.varianceMs2 / other.count);
  const allowedMs = other.meanMs * (1 + worsePercent / 100);
  if (!(one.meanMs - allowedMs > STANDARD_ERRORS * error)) return undefined;
  return `it answers after ${grouped(Math.round(one.meanMs))} ms on average (${countText(challenger)}), the configuration in charge after ${grouped(Math.round(other.meanMs))} ms (${countText(incumbent)})`;
}

function countText({ latency, aborted }: ArmReport): string {
  const answers = `${grouped(latency.count - aborted)} answers`;
  return aborted === 0 ? answers : `${answers}, ${grouped(aborted)} aborted before it`;
}
