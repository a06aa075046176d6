import { invariant } from '../framework/error.ts';
import type { CycleFact, EndpointWriter, Observer } from '../framework/plugin.ts';
import type { Runtime } from '../framework/runtime.ts';
import type {
  Filter,
  NamedFilter,
  Picker,
  ProfileHandler,
  SchedulingProfile,
  Scorer,
  WeightedScorer,
} from '../framework/scheduling.ts';
import type { PickerPlan, PlannedPlugin, PlannedProfile } from './load.ts';

/** Put around plugins as they are made; each gives back something with the same interface. */
export interface PluginWrap {
  filter(plugin: PlannedPlugin, filter: Filter): Filter;
  scorer(plugin: PlannedPlugin, scorer: Scorer): Scorer;
  picker(plugin: PlannedPlugin, picker: Picker): Picker;
}

export interface InstantiateOptions {
  readonly pool: EndpointWriter;
  readonly runtime: Runtime;
  /** Facts the core provides whatever the configuration. */
  readonly coreFacts: readonly CycleFact<unknown>[];
  readonly wrap?: PluginWrap;
}

export interface PickerParts {
  readonly handler: ProfileHandler;
  /** By the name of their key. */
  readonly facts: ReadonlyMap<string, CycleFact<unknown>>;
  readonly observers: readonly Observer[];
  stop(): void;
}

const AS_IT_IS: PluginWrap = {
  filter: (_plugin, filter) => filter,
  scorer: (_plugin, scorer) => scorer,
  picker: (_plugin, picker) => picker,
};

/** Makes every plugin of a plan once, however many profiles name it, and starts the data sources. */
export function instantiate(plan: PickerPlan, options: InstantiateOptions): PickerParts {
  const { pool, runtime, coreFacts, wrap = AS_IT_IS } = options;
  const facts = new Map(coreFacts.map((fact) => [fact.key.name, fact]));
  const observers: Observer[] = [];
  const stops: (() => void)[] = [];
  const made = new Map<string, Filter | Scorer | Picker>();
  for (const plugin of plan.plugins) {
    if (plugin.kind === 'source') {
      const host = { name: plugin.name, pool, runtime };
      const source = plugin.definition.start(plugin.config, host);
      for (const fact of source.facts ?? []) facts.set(fact.key.name, fact);
      observers.push(source);
      stops.push(() => source.stop());
    } else if (plugin.kind !== 'handler') {
      const instance = plugin.definition.create(plugin.config, runtime);
      observers.push(instance);
      made.set(plugin.name, instance);
    }
  }
  const profiles = new Map(
    plan.profiles.map((profile) => [profile.name, profileOf(profile, made, wrap)]),
  );
  const handler = plan.handler.definition.create(plan.handler.config, profiles, runtime);
  observers.push(handler);
  const stop = (): void => {
    for (const each of stops) each();
  };
  return { handler, facts, observers, stop };
}

function profileOf(
  { name, plugins }: PlannedProfile,
  made: ReadonlyMap<string, Filter | Scorer | Picker>,
  wrap: PluginWrap,
): SchedulingProfile {
  const filters: NamedFilter[] = [];
  const scorers: WeightedScorer[] = [];
  let picker: Picker | undefined;
  for (const { plugin, weight } of plugins) {
    const instance = made.get(plugin.name);
    if (plugin.kind === 'filter') {
      filters.push({ name: plugin.name, filter: wrap.filter(plugin, instance as Filter) });
    } else if (plugin.kind === 'scorer') {
      const scorer = wrap.scorer(plugin, instance as Scorer);
      scorers.push({ name: plugin.name, weight, scorer });
    } else {
      picker = wrap.picker(plugin, instance as Picker);
    }
  }
  invariant(picker !== undefined, `profile ${name} was planned without a picker`);
  return { name, filters, scorers, picker };
}
