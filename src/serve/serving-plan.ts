import { DEFAULT_DETECTOR } from '../flow/control/detector-types.ts';
import { DEFAULT_EJECTION, withEjection } from '../picker/ejection/ejection-plan.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';

/**
 * The plan with what a serving picker does unless its configuration says otherwise. It is part of
 * the effective configuration, which captures contain: a capture without it is decided without it.
 */
export function servingPlan(given: PickerPlan): PickerPlan {
  const plan = withEjection(given, DEFAULT_EJECTION);
  if (plan.flowControl !== undefined || plan.shedding !== undefined) return plan;
  const saturationDetector = { pluginRef: DEFAULT_DETECTOR.name };
  const effective = { ...plan.effective, saturationDetector };
  return { ...plan, shedding: DEFAULT_DETECTOR, effective };
}
