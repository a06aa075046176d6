import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import { type Network, noNetwork } from '../../src/framework/runtime.ts';
import { withoutNetwork } from '../../src/library/create-picker.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import type { JournalSubscriber } from '../../src/picker/events/journal.ts';
import type { PickerPlan } from '../../src/picker/plan/picker-plan.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';

export const PLAN: PickerPlan = loadConfig({
  text: NAMED_CONFIGS.get('default') ?? '',
  source: 'default',
  catalogue: {
    ...EMBEDDED_CATALOGUE,
    dataSources: EMBEDDED_CATALOGUE.dataSources.map(withoutNetwork),
  },
});

interface FuzzPickerOptions {
  readonly plan?: PickerPlan;
  readonly subscribers?: readonly JournalSubscriber[];
  readonly network?: Network;
}

const NO_NETWORK = noNetwork('fuzzing');

/** A picker with three endpoints that nothing scrapes, in simulated time. */
export function startFuzzPicker({
  plan = PLAN,
  subscribers = [],
  network = NO_NETWORK,
}: FuzzPickerOptions = {}): { readonly picker: EndpointPicker; readonly clock: SimulatedClock } {
  const clock = new SimulatedClock();
  const runtime = { clock, random: seededRandom(1), network };
  const picker = new EndpointPicker({ plan, runtime, subscribers });
  for (const id of ['10.0.0.1:8000', '10.0.0.2:8000', '10.0.0.3:8000']) {
    picker.pool.upsert({ id: id as EndpointId, address: id, labels: new Map() });
  }
  return { picker, clock };
}
