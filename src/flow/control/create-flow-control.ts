import { detectorPart } from './detector-types.ts';
import type { Fairness } from './fairness/fairness.ts';
import { FlowControl, type FlowControlDeps } from './flow-control.ts';
import type { BandParts } from './flow-control-parts.ts';
import type { BandPlan, FlowControlPlan, PlannedPolicy } from './flow-control-plan.ts';
import {
  fairnessPolicies,
  orderingPolicies,
  type PolicyType,
  usageLimitPolicies,
} from './policy-types.ts';

/** The flow control that a configuration asks for, with nothing waiting. */
export function createFlowControl(plan: FlowControlPlan, deps: FlowControlDeps): FlowControl {
  const fairness = new Map<string, () => Fairness>();
  const partsOf = (band: BandPlan): BandParts => {
    fairness.set(band.fairness.name, made(fairnessPolicies, band.fairness));
    return {
      maxBytes: band.maxBytes,
      maxRequests: band.maxRequests,
      requestTtlMs: band.requestTtlMs,
      before: made(orderingPolicies, band.ordering),
      fairness: band.fairness.name,
    };
  };
  const bands = new Map([...plan.bands].map(([priority, band]) => [priority, partsOf(band)]));
  const parts = {
    maxBytes: plan.maxBytes,
    maxRequests: plan.maxRequests,
    requestTtlMs: plan.requestTtlMs,
    noEndpointTtlMs: plan.noEndpointTtlMs,
    bands,
    defaultBand: partsOf(plan.defaultBand),
    negativeBand: partsOf(plan.negativeBand),
    fairness,
    detector: detectorPart(plan.detector),
    usageLimit: made(usageLimitPolicies, plan.usageLimit),
    evicts: plan.evicts,
  };
  return new FlowControl(parts, deps);
}

function made<Made>(types: readonly PolicyType<Made>[], { type, config }: PlannedPolicy): Made {
  const known = types.find((each) => each.type === type);
  if (known === undefined) throw new Error(`${type} is not the type that was planned`);
  return known.create(config);
}
