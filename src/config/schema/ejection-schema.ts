import { z } from 'zod';
import { DEFAULT_EJECTION, type EjectionPlan } from '../../picker/ejection/ejection-plan.ts';

const millis = z.number().positive().max(3_600_000);

/** `ejection` of a configuration: our addition. What is left out has its default. */
export const ejection: z.ZodType<EjectionPlan> = z
  .strictObject({
    enabled: z.boolean().default(DEFAULT_EJECTION.enabled),
    consecutiveFailures: z.int().positive().default(DEFAULT_EJECTION.consecutiveFailures),
    failurePercent: z.number().positive().max(100).default(DEFAULT_EJECTION.failurePercent),
    firstTokenStallMs: millis.default(DEFAULT_EJECTION.firstTokenStallMs),
    silenceMs: z.number().min(0).max(3_600_000).default(DEFAULT_EJECTION.silenceMs),
    backoffMs: millis.default(DEFAULT_EJECTION.backoffMs),
    backoffMaxMs: millis.default(DEFAULT_EJECTION.backoffMaxMs),
    trials: z.int().positive().default(DEFAULT_EJECTION.trials),
  })
  .refine(({ backoffMs, backoffMaxMs }) => backoffMs <= backoffMaxMs, {
    path: ['backoffMs'],
    message: 'must be at most backoffMaxMs, which ends its doubling',
  });
