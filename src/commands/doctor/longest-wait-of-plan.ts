import type { Millis } from '../../framework/runtime.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';

/** How long a request may wait at a picker with this plan; infinity for no limit. */
export function longestWaitOfPlanMs({ hold, flowControl }: PickerPlan): Millis {
  const held = hold?.enabled === true ? hold.maxWaitMs : 0;
  if (flowControl === undefined) return held;
  const { requestTtlMs, noEndpointTtlMs, bands, defaultBand, negativeBand } = flowControl;
  const ofBands = [...bands.values(), defaultBand, negativeBand].map(
    (band) => band.requestTtlMs ?? 0,
  );
  return Math.max(held, requestTtlMs, noEndpointTtlMs, ...ofBands);
}
