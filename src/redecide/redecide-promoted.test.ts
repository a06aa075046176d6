import { expect, it } from 'vitest';
import { z } from 'zod';
import { makeRequest } from '../../test/makers.ts';
import { madeCapture } from '../../test/support/made-capture.ts';
import { decidedOtherwise, REDECIDE_OPTIONS, redecideAll } from '../../test/support/redecided.ts';
import { EMBEDDED_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../config/defaults.ts';
import { loadConfig } from '../config/load.ts';
import { RoutingError } from '../framework/error.ts';
import { defineAdmitter, defineScheduler, type PluginCatalogue } from '../framework/plugin.ts';
import type { InferenceRequest } from '../framework/request.ts';
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

function planOf(text: string, catalogue: PluginCatalogue = EMBEDDED_CATALOGUE): PickerPlan {
  return loadConfig({ text, source: 'test', catalogue });
}

/** 2,000 requests, of which a challenger decides more and more, all, and at the end none. */
function promoted(seed: number): readonly CaptureRecord[] {
  let requests = 0;
  const plan = planOf(CHALLENGER);
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
  const byScheduler = decided.filter(({ was }) => 'endpoint' in was && was.by === 'half');
  expect(byScheduler.length).toBeGreaterThan(900);
  expect(decidedOtherwise(decided)).toEqual([]);
});

const SELECTIVE = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
  - {type: label-selector-filter, parameters: {matchLabels: {zone: none}}}
  - {type: queue-scorer}
schedulingProfiles:
  - name: default
    plugins: [{pluginRef: label-selector-filter}, {pluginRef: queue-scorer}]
`;
const BUSY = CHALLENGER.replace('plugins: [', 'plugins: [{type: busy-admitter}, ');

/** Refuses whatever it is asked about. */
const ADMITTER = defineAdmitter({
  type: 'busy-admitter',
  config: z.strictObject({}),
  start: () => ({
    admit: () => {
      throw new RoutingError('saturated', 'busy');
    },
    stop: () => undefined,
  }),
});

it.each([
  ['whose filters leave no endpoint', SELECTIVE],
  ['whose admitter refuses them', BUSY],
])(
  '[G267] a capture gives the same decisions again where requests were refused by a challenger %s',
  async (_which, text) => {
    const dataSources = [...EMBEDDED_CATALOGUE.dataSources, ADMITTER];
    const plan = planOf(text, { ...EMBEDDED_CATALOGUE, dataSources });
    let requests = 0;
    const records = madeCapture('default', 1000, 5, {
      watch: (picker) => {
        requests += 1;
        if (requests === 800) picker.withdraw();
        if (requests !== 300) return;
        const takes = ({ id }: InferenceRequest): boolean => Number(id.slice(1)) % 3 === 0;
        picker.challenge(plan, { name: 'canary', takes, onThrown: () => undefined });
      },
    });
    const decided = await redecideAll(records, REDECIDE_OPTIONS);
    const refused = decided.filter(({ was }) => 'error' in was && was.by === 'canary');
    expect(refused.length).toBeGreaterThan(100);
    expect(decidedOtherwise(decided)).toEqual([]);
    // Another configuration is asked about them.
    const config = { text: CHALLENGER, source: 'other' };
    const others = await redecideAll(records, { ...REDECIDE_OPTIONS, config });
    expect(others.filter(({ is }) => 'error' in is)).toEqual([]);
  },
);

it('[G268] a capture names the picker that chose an endpoint which the observing picker does not have', async () => {
  const records = madeCapture('default', 20, 5, {
    watch: (picker) => {
      const destination = '10.9.9.9:8000';
      expect(() => picker.book(makeRequest({}), { destination })).toThrow(destination);
    },
  });
  const decided = await redecideAll(records, REDECIDE_OPTIONS);
  expect(decided.filter(({ is }) => 'error' in is && is.by === 'observed')).toHaveLength(20);
  expect(decidedOtherwise(decided)).toEqual([]);
});
