import { planFrom } from '../../src/catalogue/plan.ts';
import { Headroom } from '../../src/journal/headroom/headroom.ts';
import { DEFAULT_EJECTION, withEjection } from '../../src/picker/ejection/ejection-plan.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import type { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { makeRuntime } from '../makers.ts';

/** A picker that goes round, and the headroom of its pool, without waiting and capacity bounds. */
export function headroomBed(clock: SimulatedClock): {
  readonly headroom: Headroom;
  readonly picker: EndpointPicker;
} {
  const headroom: Headroom = new Headroom({
    clock,
    endpoints: () => picker.pool.snapshot(),
    limitOf: () => Number.POSITIVE_INFINITY,
    waiting: () => 0,
    isEjected: (endpoint) => picker.ejector.ejected(endpoint) !== undefined,
  });
  const picker = new EndpointPicker({
    plan: withEjection(planFrom('round-robin'), DEFAULT_EJECTION),
    runtime: { ...makeRuntime(), clock },
    subscribers: [headroom],
  });
  return { headroom, picker };
}
