import { z } from 'zod';
import type { ArmReport } from './arm-tally.ts';
import type { GainReport } from './paired-gain.ts';

const percent = z.number().min(0).max(100);

/** When a shadow gets requests to decide by itself, and when it loses them again. */
export const promotionRule: z.ZodType<PromotionRule, unknown> = z.strictObject({
  /** Name of a `--shadow`, as given. */
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
          message: 'must rise',
        })
        .default([5, 25, 50, 95]),
      stepRequests: z.int().min(1).default(2000),
    })
    .prefault({}),
  demote: z
    .strictObject({
      latencyWorsePercent: percent.default(0),
      requests: z.int().min(30).default(200),
    })
    .prefault({}),
});

export interface PromotionRule {
  readonly shadow: string;
  readonly promote: {
    /** As a shadow, at least, with a prediction of both. */
    readonly decisions: number;
    /** By which the lower end of the 95 % interval of its predicted mean time to a first token must be better. */
    readonly ttftBetterPercent: number;
    /** Of requests, one after the other. Below 100 some stay with the one in charge, to compare with. */
    readonly stepsPercent: readonly number[];
    /** That it has decided, before the next step. */
    readonly stepRequests: number;
  };
  readonly demote: {
    /** Beyond which its observed latency must be worse for certain. */
    readonly latencyWorsePercent: number;
    /** Of its own, before anything is said of them. */
    readonly requests: number;
  };
}

/** What a shadow has shown. */
export interface ShadowEvidence {
  readonly gain: GainReport;
  /** Refused where the other has not, or the other way round; unanswered; crashed, or fallen behind. */
  readonly faults: number;
}

export interface ArmReports {
  readonly challenger: ArmReport;
  readonly incumbent: ArmReport;
}

/** They are looked at again and again, so what is called certain must be far from chance. */
const STANDARD_ERRORS = 4;

/** Why a shadow may begin to decide, as a sentence; undefined while it may not. */
export function promotionReason(
  { promote }: PromotionRule,
  { gain, faults }: ShadowEvidence,
): string | undefined {
  const { decisions, percent: better, lowPercent, highPercent } = gain;
  if (faults > 0 || decisions < promote.decisions) return undefined;
  if (!(lowPercent >= promote.ttftBetterPercent)) return undefined;
  const interval = `95 % interval ${lowPercent.toFixed(1)} to ${highPercent.toFixed(1)} %`;
  return `its predicted time to a first token is ${better.toFixed(1)} % better (${interval}) over ${decisions} decisions, without a fault`;
}

/** Why it must not decide any more; undefined where nothing speaks against it. */
export function demotionReason(
  demote: PromotionRule['demote'],
  arms: ArmReports,
): string | undefined {
  const { challenger, incumbent } = arms;
  if (challenger.requests < demote.requests || incumbent.requests < demote.requests) {
    return undefined;
  }
  return failsMore(challenger, incumbent) ?? answersLater(arms, demote.latencyWorsePercent);
}

/** Two shares compared by the normal approximation, pooled. */
function failsMore(one: ArmReport, other: ArmReport): string | undefined {
  const [share, otherShare] = [one.failed / one.requests, other.failed / other.requests];
  const pooled = (one.failed + other.failed) / (one.requests + other.requests);
  const error = Math.sqrt(pooled * (1 - pooled) * (1 / one.requests + 1 / other.requests));
  if (!(share - otherShare > STANDARD_ERRORS * error)) return undefined;
  return `${one.failed} of its ${one.requests} requests failed, of the other’s ${other.failed} of ${other.requests}`;
}

/** Two means compared as Welch does. */
function answersLater(
  { challenger, incumbent }: ArmReports,
  worsePercent: number,
): string | undefined {
  const [one, other] = [challenger.latency, incumbent.latency];
  const error = Math.sqrt(one.varianceMs2 / one.count + other.varianceMs2 / other.count);
  const allowedMs = other.meanMs * (1 + worsePercent / 100);
  if (!(one.meanMs - allowedMs > STANDARD_ERRORS * error)) return undefined;
  return `its answers take ${one.meanMs.toFixed(0)} ms on average over ${one.count}, the other’s ${other.meanMs.toFixed(0)} ms over ${other.count}`;
}
