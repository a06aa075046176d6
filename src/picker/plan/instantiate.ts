import { invariant } from '../../framework/error.ts';
import type { CycleFact, DataSource, EndpointWriter, Observer } from '../../framework/plugin.ts';
import type { Runtime } from '../../framework/runtime.ts';
import type {
  Decider,
  Filter,
  NamedFilter,
  Picker,
  ProfileHandler,
  SchedulingProfile,
  Scorer,
  WeightedScorer,
} from '../../framework/scheduling.ts';
import type { PickerPlan, PlannedPlugin, PlannedProfile } from './picker-plan.ts';
import { sameParameters } from './same-parameters.ts';

/** Where a plugin is used. Several profiles may name it. */
export interface PluginUse {
  readonly profile: string;
  /** Of a scorer; 1 for other plugins. */
  readonly weight: number;
}

/** Wraps plugins where they are used. Each method returns an object with the same interface. */
export interface PluginWrap {
  filter(plugin: PlannedPlugin, filter: Filter, use: PluginUse): Filter;
  scorer(plugin: PlannedPlugin, scorer: Scorer, use: PluginUse): Scorer;
  picker(plugin: PlannedPlugin, picker: Picker, use: PluginUse): Picker;
}

export interface InstantiateOptions {
  readonly pool: EndpointWriter;
  readonly runtime: Runtime;
  /** Facts that the core provides with every configuration. */
  readonly coreFacts: readonly CycleFact<unknown>[];
  readonly wrap?: PluginWrap;
  /** Plugins to use again where name, type and parameters are equal, with what they learned. */
  readonly kept?: PluginInstances | undefined;
}

/** A plugin instance that observes requests and endpoints, and may have to be stopped. */
export type PluginPart = Observer & { stop?(): void };

export interface PluginInstance {
  readonly plugin: PlannedPlugin;
  readonly instance: Observer;
}

/** By name in the configuration, without the profile handler, which is always made again. */
export type PluginInstances = ReadonlyMap<string, PluginInstance>;

export interface PickerParts {
  readonly handler: ProfileHandler;
  /** By the name of their key. */
  readonly facts: ReadonlyMap<string, CycleFact<unknown>>;
  /** All plugin instances. The owner of the parts stops them. */
  readonly observers: readonly PluginPart[];
  /** Data sources that prepare something before a cycle. */
  readonly preparers: readonly Preparer[];
  readonly instances: PluginInstances;
}

export type Preparer = Required<Pick<DataSource, 'prepare'>>;

const NO_WRAP: PluginWrap = {
  filter: (_plugin, filter) => filter,
  scorer: (_plugin, scorer) => scorer,
  picker: (_plugin, picker) => picker,
};

/**
 * Makes every plugin of a plan once, however many profiles name it. Data sources start last, when
 * no other plugin can fail any more; if one of them fails, those already started are stopped.
 * Throws ConfigError when the handler cannot run the profiles.
 */
export function instantiate(plan: PickerPlan, options: InstantiateOptions): PickerParts {
  const { runtime, coreFacts, wrap = NO_WRAP, kept = new Map() } = options;
  const made = new Map<string, (Filter | Scorer | Picker) & Observer>();
  const deciders = new Map<string, Decider & Observer>();
  for (const plugin of plan.plugins) {
    const { name, kind, definition, config } = plugin;
    if (kind === 'source' || kind === 'handler') continue;
    const known = keptInstance(kept, plugin);
    if (kind === 'decider') {
      deciders.set(name, (known as Decider | undefined) ?? definition.create(config, runtime));
    } else {
      made.set(name, (known as Filter | undefined) ?? definition.create(config, runtime));
    }
  }
  const profiles = new Map(
    plan.profiles.map((profile) => [profile.name, profileOf(profile, made, wrap)]),
  );
  const handler = plan.handler.definition.create(
    plan.handler.config,
    { profiles, deciders },
    runtime,
  );
  const sources = startSources(plan, options);
  const all = [...sources.values()];
  const facts = [...coreFacts, ...all.flatMap((source) => source.facts ?? [])];
  return {
    handler,
    facts: new Map(facts.map((fact) => [fact.key.name, fact])),
    observers: [...all, ...made.values(), ...deciders.values(), handler],
    preparers: all.filter(
      (source): source is DataSource & Preparer => source.prepare !== undefined,
    ),
    instances: instancesOf(plan, new Map<string, Observer>([...made, ...deciders, ...sources])),
  };
}

function startSources(
  plan: PickerPlan,
  { pool, runtime, kept = new Map() }: InstantiateOptions,
): ReadonlyMap<string, DataSource> {
  const sources = new Map<string, DataSource>();
  const begun: DataSource[] = [];
  try {
    for (const plugin of plan.plugins) {
      if (plugin.kind !== 'source') continue;
      const { name, definition, config } = plugin;
      const known = keptInstance(kept, plugin) as DataSource | undefined;
      const source = known ?? definition.start(config, { name, pool, runtime });
      if (known === undefined) begun.push(source);
      sources.set(name, source);
    }
    return sources;
  } catch (error) {
    for (const source of begun) source.stop();
    throw error;
  }
}

function keptInstance(kept: PluginInstances, plugin: PlannedPlugin): Observer | undefined {
  const known = kept.get(plugin.name);
  const same =
    known !== undefined &&
    known.plugin.kind === plugin.kind &&
    known.plugin.definition.type === plugin.definition.type &&
    sameParameters(known.plugin.config, plugin.config);
  return same ? known.instance : undefined;
}

function instancesOf(plan: PickerPlan, byName: ReadonlyMap<string, Observer>): PluginInstances {
  return new Map(
    plan.plugins.flatMap((plugin) => {
      const instance = byName.get(plugin.name);
      return instance === undefined ? [] : [[plugin.name, { plugin, instance }]];
    }),
  );
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
      const { type } = plugin.definition;
      scorers.push({ name: plugin.name, type, weight, scorer: wrap.scorer(plugin, both, use) });
    } else {
      picker = wrap.picker(plugin, instance as Picker, use);
    }
  }
  invariant(picker !== undefined, `profile ${name} was planned without a picker`);
  return { name, filters, scorers, picker };
}
