import { planFrom } from '../../src/catalogue/plan.ts';
import { Headroom } from '../../src/journal/headroom/headroom.ts';
import { DEFAULT_EJECTION, withEjection } from '../../src/picker/ejection/ejection-plan.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import type { PickerPlan } from '../../src/picker/plan/picker-plan.ts';
import type { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { makeRuntime } from '../makers.ts';

interface HeadroomBedOptions {
  /** A picker that goes round where it is left out. */
  readonly plan?: PickerPlan;
  /** Requests that wait at the picker. */
  readonly waiting?: () => number;
  readonly isHeldBack?: () => boolean;
}

/** A picker and the headroom of its pool, without capacity bounds. */
export function headroomBed(
  clock: SimulatedClock,
  { plan, waiting = () => 0, isHeldBack }: HeadroomBedOptions = {},
): {
  readonly headroom: Headroom;
  readonly picker: EndpointPicker;
} {
  const headroom: Headroom = new Headroom({
    plan,
    clock,
    endpoints: () => picker.pool.snapshot(),
    limitOf: () => Number.POSITIVE_INFINITY,
    waiting,
    isHeldBack,
    isEjected: (endpoint) => picker.ejector.ejected(endpoint) !== undefined,
  });
  const picker = new EndpointPicker({
    plan: withEjection(plan ?? planFrom('round-robin'), DEFAULT_EJECTION),
    runtime: { ...makeRuntime(), clock },
    subscribers: [headroom],
  });
  return { headroom, picker };
}
