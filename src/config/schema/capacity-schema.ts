import { z } from 'zod';
import type { CapacityPlan } from '../../picker/plan/capacity-plan.ts';

/** `capacity` of a configuration: our addition. */
export const capacity: z.ZodType<CapacityPlan> = z
  .strictObject({
    maxConcurrency: z.int().positive().max(1_000_000).optional(),
    maxConcurrencyLabel: z.string().min(1).optional(),
  })
  .refine(
    (given) => given.maxConcurrency !== undefined || given.maxConcurrencyLabel !== undefined,
    {
      message: 'give maxConcurrency, maxConcurrencyLabel or both: without them nothing is bounded',
    },
  );
