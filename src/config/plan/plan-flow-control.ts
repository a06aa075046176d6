import type { ConfigIssue } from '../../framework/error.ts';
import type { EffectiveConfig, PickerPlan } from '../../picker/plan/picker-plan.ts';
import { isGateOn } from '../reference/feature-gates.ts';
import { writtenFlowControl } from '../schema/flow-control-schema.ts';
import type { EndpointPickerConfig } from '../schema/schema.ts';
import { FlowControlPlanner } from './flow-control-planner.ts';
import type { PluginTable } from './plugin-table.ts';

const GATE = 'flowControl';
export interface PlannedFlow {
  readonly plan: Pick<PickerPlan, 'flowControl' | 'shedding'>;
  readonly written: Partial<EffectiveConfig>;
}

/**
 * With the feature gate flow control, else what sheds requests of low priority, where the
 * configuration says it. As in the reference, without the gate only the detector of the section is
 * used. Adds errors to `issues`.
 */
export function planFlowControl(
  { featureGates, flowControl, saturationDetector }: EndpointPickerConfig,
  table: PluginTable,
  issues: ConfigIssue[],
): PlannedFlow {
  const planner = new FlowControlPlanner(table, issues);
  const own = flowControl?.saturationDetector?.pluginRef || undefined;
  const pluginRef = own ?? (saturationDetector?.pluginRef || undefined);
  if (isGateOn(featureGates, GATE)) {
    const entry = { ...flowControl, saturationDetector: { pluginRef } };
    const planned = planner.plan(entry);
    const written = { featureGates: [GATE], flowControl: writtenFlowControl(entry) };
    return { plan: { flowControl: planned }, written };
  }
  if (pluginRef === undefined) return { plan: {}, written: {} };
  const path = own === undefined ? 'saturationDetector' : 'flowControl.saturationDetector';
  const shedding = planner.detector(pluginRef, `${path}.pluginRef`);
  return { plan: { shedding }, written: { saturationDetector: { pluginRef } } };
}
