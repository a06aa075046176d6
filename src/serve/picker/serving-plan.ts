import { DEFAULT_DETECTOR } from '../../flow/control/detector-types.ts';
import { DEFAULT_EJECTION, withEjection } from '../../picker/ejection/ejection-plan.ts';
import type { CapacityPart } from '../../picker/plan/capacity-plan.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';

/**
 * The plan with what a serving picker does unless its configuration says otherwise. It is part of
 * the effective configuration, which captures contain: a capture without it is decided without it.
 * `part` is that of the command line.
 */
export function servingPlan(given: PickerPlan, part?: CapacityPart): PickerPlan {
  const plan = withPart(withEjection(given, DEFAULT_EJECTION), part);
  if (plan.flowControl !== undefined || plan.shedding !== undefined) return plan;
  const saturationDetector = { pluginRef: DEFAULT_DETECTOR.name };
  const effective = { ...plan.effective, saturationDetector };
  return { ...plan, shedding: DEFAULT_DETECTOR, effective };
}

/** Without a capacity there is nothing to divide. */
function withPart(plan: PickerPlan, part: CapacityPart | undefined): PickerPlan {
  if (part === undefined || plan.capacity === undefined) return plan;
  const capacity = { ...plan.capacity, part };
  return { ...plan, capacity, effective: { ...plan.effective, capacity } };
}
