import { z } from 'zod';
import { WAITING_ORDERS } from '../../flow/order.ts';
import { DEFAULT_HOLD, type HoldPlan } from '../../picker/plan/hold-plan.ts';

/** `hold` of a configuration: our addition. What is left out has its default. */
export const hold: z.ZodType<HoldPlan> = z.strictObject({
  enabled: z.boolean().default(DEFAULT_HOLD.enabled),
  maxRequests: z.int().positive().max(1_000_000).default(DEFAULT_HOLD.maxRequests),
  maxBytes: z.int().positive().default(DEFAULT_HOLD.maxBytes),
  maxWaitMs: z.number().positive().max(3_600_000).default(DEFAULT_HOLD.maxWaitMs),
  order: z.enum(WAITING_ORDERS).default(DEFAULT_HOLD.order),
});
