import { z } from 'zod';
import {
  CAPACITY_PARTS_MAX,
  type CapacityPart,
  type CapacityPlan,
} from '../../picker/plan/capacity-plan.ts';

const part: z.ZodType<CapacityPart> = z
  .strictObject({ number: z.int().positive(), of: z.int().positive().max(CAPACITY_PARTS_MAX) })
  .refine(({ number, of }) => number <= of, {
    message: 'number is that of this picker, from 1 to of',
  });

/** `capacity` of a configuration: our addition. */
export const capacity: z.ZodType<CapacityPlan> = z
  .strictObject({
    maxConcurrency: z.int().positive().max(1_000_000).optional(),
    maxConcurrencyLabel: z.string().min(1).optional(),
    part: part.optional(),
  })
  .refine(
    (given) => given.maxConcurrency !== undefined || given.maxConcurrencyLabel !== undefined,
    {
      message: 'give maxConcurrency, maxConcurrencyLabel or both: without them nothing is bounded',
    },
  );
