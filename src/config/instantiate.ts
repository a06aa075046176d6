import { invariant } from '../framework/error.ts';
import type { CycleFact, DataSource, EndpointWriter, Observer } from '../framework/plugin.ts';
import type { Runtime } from '../framework/runtime.ts';
import type {
  Decider,
  Filter,
  NamedFilter,
  Picker,
  ProfileHandler,
  SchedulingProfile,
  Scorer,
  WeightedScorer,
} from '../framework/scheduling.ts';
import type { PickerPlan, PlannedPlugin, PlannedProfile } from './picker-plan.ts';

/** Where a plugin is used: several profiles may name it. */
export interface PluginUse {
  readonly profile: string;
  /** Of a scorer. */
  readonly weight: number;
}

/** Put around plugins where they are used; each gives back something with the same interface. */
export interface PluginWrap {
  filter(plugin: PlannedPlugin, filter: Filter, use: PluginUse): Filter;
  scorer(plugin: PlannedPlugin, scorer: Scorer, use: PluginUse): Scorer;
  picker(plugin: PlannedPlugin, picker: Picker, use: PluginUse): Picker;
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
  /** Data sources that get something ready before a cycle. */
  readonly preparers: readonly Preparer[];
  stop(): void;
}

export type Preparer = Required<Pick<DataSource, 'prepare'>>;

const AS_IT_IS: PluginWrap = {
  filter: (_plugin, filter) => filter,
  scorer: (_plugin, scorer) => scorer,
  picker: (_plugin, picker) => picker,
};

/**
 * Makes every plugin of a plan once, however many profiles name it, then starts the data sources: they begin only when
 * nothing can fail any more. Throws ConfigError when the handler cannot run the profiles.
 */
export function instantiate(plan: PickerPlan, options: InstantiateOptions): PickerParts {
  const { pool, runtime, coreFacts, wrap = AS_IT_IS } = options;
  const made = new Map<string, (Filter | Scorer | Picker) & Observer>();
  const deciders = new Map<string, Decider & Observer>();
  for (const { name, kind, definition, config } of plan.plugins) {
    if (kind === 'source' || kind === 'handler') continue;
    if (kind === 'decider') deciders.set(name, definition.create(config, runtime));
    else made.set(name, definition.create(config, runtime));
  }
  const profiles = new Map(
    plan.profiles.map((profile) => [profile.name, profileOf(profile, made, wrap)]),
  );
  const handler = plan.handler.definition.create(
    plan.handler.config,
    { profiles, deciders },
    runtime,
  );
  const sources = plan.plugins.flatMap(({ name, kind, definition, config }) =>
    kind === 'source' ? [definition.start(config, { name, pool, runtime })] : [],
  );
  const facts = [...coreFacts, ...sources.flatMap((source) => source.facts ?? [])];
  return {
    handler,
    facts: new Map(facts.map((fact) => [fact.key.name, fact])),
    observers: [...sources, ...made.values(), ...deciders.values(), handler],
    preparers: sources.filter(
      (source): source is DataSource & Preparer => source.prepare !== undefined,
    ),
    stop: () => {
      for (const source of sources) source.stop();
    },
  };
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
    const use = { profile: name, weight };
    if (plugin.kind === 'filter') {
      filters.push({ name: plugin.name, filter: wrap.filter(plugin, instance as Filter, use) });
    } else if (plugin.kind === 'scorer') {
      const both = instance as Scorer & Partial<Filter>;
      if (both.filter !== undefined) {
        filters.push({ name: plugin.name, filter: wrap.filter(plugin, both as Filter, use) });
      }
      scorers.push({ name: plugin.name, weight, scorer: wrap.scorer(plugin, both, use) });
    } else {
      picker = wrap.picker(plugin, instance as Picker, use);
    }
  }
  invariant(picker !== undefined, `profile ${name} was planned without a picker`);
  return { name, filters, scorers, picker };
}
