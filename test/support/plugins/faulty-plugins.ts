import { z } from 'zod';
import { scorers } from '../../../scorers/index.ts';
import { catalogueOf } from '../../../src/catalogue/built-in-catalogue.ts';
import { dataSources } from '../../../src/catalogue/data-sources.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { EndpointId } from '../../../src/framework/endpoint.ts';
import type { Observer } from '../../../src/framework/observer.ts';
import {
  type DataSource,
  defineDataSource,
  defineDecider,
  defineFilter,
  definePicker,
  defineProfileHandler,
  defineScheduler,
  defineScorer,
  type PluginCatalogue,
} from '../../../src/framework/plugin.ts';
import type { ReplacementScheduler } from '../../../src/framework/replacement.ts';
import type { Runtime } from '../../../src/framework/runtime.ts';
import {
  type CycleKey,
  cycleKey,
  type Decider,
  type Filter,
  type Picker,
  type ProfileHandler,
  type SchedulingProfile,
  type Scorer,
} from '../../../src/framework/scheduling.ts';
import { withoutNetwork } from '../../../src/library/create-picker.ts';
import { EndpointPicker } from '../../../src/picker/endpoint-picker.ts';
import type { EndpointPickerOptions } from '../../../src/picker/endpoint-picker-options.ts';
import type { PickerPlan } from '../../../src/picker/plan/picker-plan.ts';
import { makeRuntime } from '../../makers.ts';

/** A plugin of each kind that a test gives its behaviour. */
export interface FaultyPlugins {
  readonly filter?: Filter & Observer;
  readonly scorer?: Scorer & Observer;
  readonly picker?: Picker & Observer;
  readonly decider?: Decider & Observer;
  readonly handler?: (profiles: ReadonlyMap<string, SchedulingProfile>) => ProfileHandler;
  readonly source?: (runtime: Runtime) => DataSource;
  readonly scheduler?: ReplacementScheduler;
}

/** The fact that `test-source` may provide. */
export const TEST_FACT: CycleKey<number> = cycleKey<number>('test-fact');

const config = z.strictObject({});
const observes = { onRouted: () => undefined };

/** The built-in plugins and `test-filter`, `test-scorer` and so on, which behave as given. */
function catalogueWith(plugins: FaultyPlugins): PluginCatalogue {
  const scorer = plugins.scorer ?? { score: (endpoints) => endpoints.map(() => 0) };
  const source = defineDataSource({
    type: 'test-source',
    config,
    provides: () => [TEST_FACT],
    start: (_config, { runtime }) => plugins.source?.(runtime) ?? { stop: () => undefined },
  });
  const all = catalogueOf(
    [...scorers, defineScorer({ type: 'test-scorer', config, create: () => scorer })],
    [...dataSources.map(withoutNetwork), source],
    [
      defineScheduler({
        type: 'test-scheduler',
        config,
        create: () => plugins.scheduler ?? { schedule: () => ({ declined: 'none' }) },
      }),
    ],
  );
  const filter = plugins.filter ?? { filter: (endpoints) => endpoints };
  const picker = plugins.picker ?? { pick: (candidates) => candidates.slice(0, 1) };
  const decider = plugins.decider ?? { separates: () => true };
  return {
    ...all,
    filters: [...all.filters, defineFilter({ type: 'test-filter', config, create: () => filter })],
    pickers: [...all.pickers, definePicker({ type: 'test-picker', config, create: () => picker })],
    deciders: [
      ...all.deciders,
      defineDecider({ type: 'test-decider', config, create: () => ({ ...observes, ...decider }) }),
    ],
    profileHandlers: [
      ...all.profileHandlers,
      defineProfileHandler({
        type: 'test-handler',
        config,
        create: (_config, { profiles }, _runtime) =>
          plugins.handler?.(profiles) ?? {
            next: () => undefined,
            conclude: () => undefined as never,
          },
      }),
    ],
  };
}

/** A configuration's plan, with a catalogue that has these plugins. */
export function planWith(body: string, plugins: FaultyPlugins = {}): PickerPlan {
  return loadConfig({
    text: `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
dataLayer: { injectDefaults: false }
${body}`,
    source: 'test',
    catalogue: catalogueWith(plugins),
  });
}

/** A picker over `endpoints` idle endpoints, `e0` and so on, whose addresses are `10.0.0.N:80`. */
export function faultyPicker(
  body: string,
  plugins: FaultyPlugins,
  { endpoints = 4, ...options }: Partial<EndpointPickerOptions> & { endpoints?: number } = {},
): EndpointPicker {
  const plan = planWith(body, plugins);
  const picker = new EndpointPicker({ plan, runtime: makeRuntime(), ...options });
  for (let at = 0; at < endpoints; at++) {
    const id = `e${at}` as EndpointId;
    picker.pool.upsert({ id, address: `10.0.0.${at}:80`, labels: new Map() });
    const idle = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0, sampledAt: 0 };
    picker.pool.observe(id, idle);
  }
  return picker;
}

/** The configuration of one profile with these plugin types. */
export function profileOf(...types: readonly string[]): string {
  const refs = types.map((type) => `{ pluginRef: ${type} }`).join(', ');
  const all = types.map((type) => `{ type: ${type} }`).join(', ');
  return `plugins: [${all}]\nschedulingProfiles: [{ name: default, plugins: [${refs}] }]\n`;
}

/** What is in flight at all endpoints together. */
export function allInFlight({ pool, ledger }: EndpointPicker): {
  requests: number;
  pendingPrefillTokens: number;
  contextTokens: number;
} {
  const sum = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };
  for (const endpoint of pool.snapshot()) {
    const load = ledger.load(endpoint);
    sum.requests += load.requests;
    sum.pendingPrefillTokens += load.pendingPrefillTokens;
    sum.contextTokens += load.contextTokens;
  }
  return sum;
}
