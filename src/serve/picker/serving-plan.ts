import { DEFAULT_EJECTION, withEjection } from '../../picker/ejection/ejection-plan.ts';
import type { CapacityPart } from '../../picker/plan/capacity-plan.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { withShedding } from '../../picker/plan/with-shedding.ts';

/**
 * The plan with what a serving picker does unless its configuration says otherwise. It is part of
 * the effective configuration, which captures contain: a capture without it is decided without it.
 * `part` is that of the command line.
 */
export function servingPlan(given: PickerPlan, part?: CapacityPart): PickerPlan {
  return withShedding(withPart(withEjection(given, DEFAULT_EJECTION), part));
}

/** Without a capacity there is nothing to divide. */
function withPart(plan: PickerPlan, part: CapacityPart | undefined): PickerPlan {
  if (part === undefined || plan.capacity === undefined) return plan;
  const capacity = { ...plan.capacity, part };
  return { ...plan, capacity, effective: { ...plan.effective, capacity } };
}
