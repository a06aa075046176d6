import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
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

/** A picker with three endpoints that nothing scrapes, in simulated time. */
export function startFuzzPicker(subscribers: readonly JournalSubscriber[] = []): {
  readonly picker: EndpointPicker;
  readonly clock: SimulatedClock;
} {
  const clock = new SimulatedClock();
  const network = { get: () => Promise.reject(new Error('none')) };
  const runtime = { clock, random: seededRandom(1), network };
  const picker = new EndpointPicker({ plan: PLAN, runtime, subscribers });
  for (const id of ['10.0.0.1:8000', '10.0.0.2:8000', '10.0.0.3:8000']) {
    picker.pool.upsert({ id: id as EndpointId, address: id, labels: new Map() });
  }
  return { picker, clock };
}
