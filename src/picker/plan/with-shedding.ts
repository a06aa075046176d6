import { DEFAULT_DETECTOR } from '../../flow/control/detector-types.ts';
import type { PickerPlan } from './picker-plan.ts';

/**
 * The plan, by which requests with a priority below 0 are shed as a serving picker does it unless
 * the configuration says otherwise.
 */
export function withShedding(plan: PickerPlan): PickerPlan {
  if (plan.flowControl !== undefined || plan.shedding !== undefined) return plan;
  const saturationDetector = { pluginRef: DEFAULT_DETECTOR.name };
  const effective = { ...plan.effective, saturationDetector };
  return { ...plan, shedding: DEFAULT_DETECTOR, effective };
}
