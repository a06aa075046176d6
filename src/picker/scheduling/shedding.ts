import { detectorPart } from '../../flow/control/detector-types.ts';
import type { DetectorPlan } from '../../flow/control/flow-control-plan.ts';
import { IN_FLIGHT } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';
import type { SchedulingContext } from '../../framework/scheduling.ts';

/** Throws RoutingError `shed` for a request that has to make room for others. */
export type Shed = (endpoints: readonly Endpoint[], context: SchedulingContext) => void;

/** Refuses requests with a priority below 0 while their endpoints are saturated. */
export function shedding(plan: DetectorPlan): Shed {
  const detector = detectorPart(plan);
  return (endpoints, context) => {
    const { request, now } = context;
    if (request.priority >= 0) return;
    const measured = detector.create(context.get(IN_FLIGHT));
    const saturation = measured.saturation({ endpoints, at: now });
    if (saturation < 1) return;
    throw new RoutingError(
      'shed',
      `the ${endpoints.length} endpoints for this request are ${Math.round(100 * saturation)} % saturated, and its priority ${request.priority} may be shed`,
    );
  };
}
