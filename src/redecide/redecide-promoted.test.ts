import { expect, it } from 'vitest';
import { z } from 'zod';
import { madeCapture } from '../../test/support/made-capture.ts';
import { decidedOtherwise, REDECIDE_OPTIONS, redecideAll } from '../../test/support/redecided.ts';
import { EMBEDDED_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../config/defaults.ts';
import { loadConfig } from '../config/load.ts';
import { defineScheduler, type PluginCatalogue } from '../framework/plugin.ts';
import type { CaptureRecord } from '../journal/capture/capture-record.ts';
import type { EndpointPicker } from '../picker/endpoint-picker.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';

/** Its index of prompts has other parameters than that of the default policy, and begins empty. */
const CHALLENGER = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{type: queue-scorer}, {type: approx-prefix-cache-producer}, {type: prefix-cache-scorer}]
schedulingProfiles:
  - name: default
    plugins: [{pluginRef: queue-scorer, weight: 3}, {pluginRef: prefix-cache-scorer}]
`;

function challenger(): PickerPlan {
  return loadConfig({ text: CHALLENGER, source: 'test', catalogue: EMBEDDED_CATALOGUE });
}

/** 2,000 requests, of which a challenger decides more and more, all, and at the end none. */
function promoted(seed: number): readonly CaptureRecord[] {
  let requests = 0;
  const plan = challenger();
  return madeCapture('default', 2000, seed, {
    watch: (picker) => {
      requests += 1;
      const percent = new Map([
        [200, 20],
        [600, 60],
        [1000, 100],
      ]).get(requests);
      if (requests === 1600) picker.withdraw();
      if (percent === undefined) return;
      picker.challenge(plan, {
        name: 'canary',
        takes: ({ id }) => Number(id.slice(1)) % 100 < percent,
        onThrown: () => undefined,
      });
    },
  });
}

it.each([1, 2])(
  '[G259] a capture gives the same decisions again where a challenger has decided some, up to all, seed %i',
  async (seed) => {
    const records = promoted(seed);
    const decided = await redecideAll(records, REDECIDE_OPTIONS);
    expect(decided).toHaveLength(2000);
    const byChallenger = decided.filter(({ was }) => 'endpoint' in was && was.by === 'canary');
    expect(byChallenger.length).toBeGreaterThan(500);
    expect(decidedOtherwise(decided)).toEqual([]);
    // What it expected matters: by what the core in charge expects, later requests go elsewhere.
    const without = records.map((each) =>
      each.e === 'q' ? { ...each, expected: undefined } : each,
    );
    const others = decidedOtherwise(await redecideAll(without, REDECIDE_OPTIONS));
    expect(others.length).toBeGreaterThan(5);
  },
);

/** In place of a scheduler in another process, which cannot be asked when a capture is decided again. */
function withScheduler(isConnected: boolean): PluginCatalogue {
  const scheduler = defineScheduler({
    type: 'half',
    config: z.strictObject({}),
    create: () => ({
      schedule: ([endpoint], { request }) => {
        if (!isConnected || endpoint === undefined || Number(request.id.slice(1)) % 2 === 0) {
          return { declined: isConnected ? 'no-opinion' : 'disconnected' };
        }
        const targets = [{ endpoint, score: 1 }];
        const primary = { kind: 'picked', profile: 'half', targets } as const;
        return { primary, profiles: [primary], headers: new Map() };
      },
    }),
  });
  return { ...EMBEDDED_CATALOGUE, schedulers: [scheduler] };
}

it('[G260] a capture gives the same decisions again where a scheduler that is not there any more has decided every second one', async () => {
  const plan = loadConfig({
    text: `${NAMED_CONFIGS.get('default')}\nscheduler: {type: half}\n`,
    source: 'test',
    catalogue: withScheduler(true),
  });
  let requests = 0;
  const watch = (picker: EndpointPicker): void => {
    requests += 1;
    if (requests === 10) picker.adopt(plan);
  };
  const records = madeCapture('default', 2000, 4, { watch });
  const catalogue = withScheduler(false);
  const decided = await redecideAll(records, { ...REDECIDE_OPTIONS, catalogue });
  const byScheduler = decided.filter(({ was }) => 'endpoint' in was && was.by === 'module');
  expect(byScheduler.length).toBeGreaterThan(900);
  expect(decidedOtherwise(decided)).toEqual([]);
});
