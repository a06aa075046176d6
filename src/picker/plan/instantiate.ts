import { invariant } from '../../framework/error.ts';
import type { Observer } from '../../framework/observer.ts';
import type {
  CycleFact,
  DataSource,
  EndpointWriter,
  HandlerParts,
  RequestPreparation,
  Stopwatch,
} from '../../framework/plugin.ts';
import type { Clock, Runtime } from '../../framework/runtime.ts';
import type {
  Filter,
  NamedFilter,
  Picker,
  ProfileHandler,
  SchedulingProfile,
  Scorer,
  WeightedScorer,
} from '../../framework/scheduling.ts';
import { guardedDecider, guardedFact } from '../faults/guarded-plugins.ts';
import { guardedRuntime } from '../faults/guarded-runtime.ts';
import { PluginFaults } from '../faults/plugin-faults.ts';
import {
  type CreatedPlugins,
  created,
  createPlugins,
  keptInstance,
  type PluginInstances,
} from './create-plugins.ts';
import type { PickerPlan, PlannedPlugin, PlannedProfile } from './picker-plan.ts';

/** Where a plugin is used. Several profiles may name it. */
export interface PluginUse {
  readonly profile: string;
  /** A scorer's weight; 1 for other plugins. */
  readonly weight: number;
}

/** Wraps plugins where they are used. Each method returns an object with the same interface. */
export interface PluginWrap {
  /** A fact of a data source. */
  fact?(plugin: PlannedPlugin, fact: CycleFact<unknown>): CycleFact<unknown>;
  /** What times the preparations of a data source, and its answers to other plugins. */
  preparations?(plugin: PlannedPlugin): Stopwatch;
  /** What times look-ups in the index of a data source. */
  lookups?(plugin: PlannedPlugin): Stopwatch;
  filter(plugin: PlannedPlugin, filter: Filter, use: PluginUse): Filter;
  scorer(plugin: PlannedPlugin, scorer: Scorer, use: PluginUse): Scorer;
  picker(plugin: PlannedPlugin, picker: Picker, use: PluginUse): Picker;
}

export interface InstantiateOptions {
  readonly pool: EndpointWriter;
  readonly runtime: Runtime;
  /** The clock that data sources get; that of `runtime` when left out. */
  readonly timers?: Clock | undefined;
  /** Facts that the core provides with every configuration. */
  readonly coreFacts: readonly CycleFact<unknown>[];
  readonly wrap?: PluginWrap;
  /** Plugins to use again where name, type and parameters are equal, with what they learned. */
  readonly kept?: PluginInstances | undefined;
  /** Gets to know every instance, and is given what fails outside of a decision. */
  readonly faults?: PluginFaults;
}

/** A plugin instance that observes requests and endpoints, and may have to be stopped. */
export type PluginPart = Observer & { stop?(): void };

export interface PluginParts {
  readonly handler: ProfileHandler;
  /** By the name of their key. */
  readonly facts: ReadonlyMap<string, CycleFact<unknown>>;
  /** All plugin instances. The owner of the parts stops them. */
  readonly observers: readonly PluginPart[];
  /** Data sources that prepare something before a cycle. */
  readonly preparers: readonly Preparer[];
  /** All data sources: they may screen and refuse requests, and add headers. */
  readonly sources: readonly DataSource[];
  readonly instances: PluginInstances;
}

export interface Preparer {
  readonly source: Required<RequestPreparation>;
  readonly stopwatch: Stopwatch | undefined;
}

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
export function instantiate(plan: PickerPlan, options: InstantiateOptions): PluginParts {
  const { coreFacts, wrap = NO_WRAP, kept = new Map(), faults = new PluginFaults() } = options;
  const { made, deciders } = createPlugins(plan, { runtime: options.runtime, kept, faults });
  const wrapped = { made, wrap: identifying(wrap, faults) };
  const profiles = new Map(
    plan.profiles.map((profile) => [profile.name, profileOf(profile, wrapped)]),
  );
  const handler = handlerOf(plan, { ...options, faults }, { profiles, deciders });
  const started = startSources(plan, { ...options, faults });
  timeSources(started, wrap);
  const sources = [...started.values()];
  const facts = [...coreFacts, ...factsOf(started, wrap, faults)];
  const all = new Map<string, Observer>([...made, ...deciders, [plan.handler.name, handler]]);
  for (const [{ name }, source] of started) all.set(name, source);
  return {
    handler,
    facts: new Map(facts.map((fact) => [fact.key.name, fact])),
    observers: [...sources, ...made.values(), ...deciders.values(), handler],
    preparers: preparersOf(started, wrap),
    sources,
    instances: instancesOf(plan, all),
  };
}

type StartedSources = ReadonlyMap<PlannedPlugin, DataSource>;

function factsOf(
  started: StartedSources,
  wrap: PluginWrap,
  faults: PluginFaults,
): readonly CycleFact<unknown>[] {
  return [...started].flatMap(([plugin, source]) =>
    (source.facts ?? []).map((fact) => {
      const guarded = guardedFact(source, fact, faults);
      return wrap.fact?.(plugin, guarded) ?? guarded;
    }),
  );
}

function preparersOf(started: StartedSources, wrap: PluginWrap): readonly Preparer[] {
  return [...started].flatMap(([plugin, source]): readonly Preparer[] => {
    if (source.prepare === undefined) return [];
    const preparing = source as Preparer['source'];
    return [{ source: preparing, stopwatch: wrap.preparations?.(plugin) }];
  });
}

function timeSources(started: StartedSources, wrap: PluginWrap): void {
  for (const [plugin, source] of started) {
    if (source.timeAnswers !== undefined && wrap.preparations !== undefined) {
      source.timeAnswers(wrap.preparations(plugin));
    }
    if (source.timeLookups !== undefined && wrap.lookups !== undefined) {
      source.timeLookups(wrap.lookups(plugin));
    }
  }
}

type GuardedOptions = InstantiateOptions & { readonly faults: PluginFaults };

function handlerOf(
  { handler: plugin }: PickerPlan,
  { runtime, faults }: GuardedOptions,
  { profiles, deciders }: HandlerParts,
): ProfileHandler & Observer {
  const guarded = [...deciders].map(
    ([name, decider]) => [name, guardedDecider(decider, faults)] as const,
  );
  const parts = { profiles, deciders: new Map(guarded) };
  const handler = created(plugin, () =>
    plugin.definition.create(plugin.config, parts, guardedRuntime(runtime, plugin, faults)),
  );
  faults.identify(handler, plugin);
  return handler;
}

function startSources(
  plan: PickerPlan,
  { pool, runtime, timers = runtime.clock, faults, kept = new Map() }: GuardedOptions,
): StartedSources {
  const sources = new Map<PlannedPlugin, DataSource>();
  const begun: DataSource[] = [];
  try {
    for (const plugin of plan.plugins) {
      if (plugin.kind !== 'source') continue;
      const { name, definition, config } = plugin;
      const known = keptInstance(kept, plugin) as DataSource | undefined;
      const guarded = guardedRuntime(runtime, plugin, faults);
      const { clock } = guardedRuntime({ ...runtime, clock: timers }, plugin, faults);
      const host = { name, pool, runtime: guarded, timers: clock };
      const source = known ?? created(plugin, () => definition.start(config, host));
      faults.identify(source, plugin);
      if (known === undefined) begun.push(source);
      sources.set(plugin, source);
    }
    return sources;
  } catch (error) {
    for (const source of begun) source.stop();
    throw error;
  }
}

function instancesOf(plan: PickerPlan, byName: ReadonlyMap<string, Observer>): PluginInstances {
  return new Map(
    plan.plugins.flatMap((plugin) => {
      const instance = byName.get(plugin.name);
      return instance === undefined ? [] : [[plugin.name, { plugin, instance }]];
    }),
  );
}

/** Wraps, and has faults of what was wrapped name its plugin. */
function identifying(wrap: PluginWrap, faults: PluginFaults): PluginWrap {
  const identified = <Part extends object>(plugin: PlannedPlugin, part: Part): Part => {
    faults.identify(part, plugin);
    return part;
  };
  return {
    filter: (plugin, filter, use) => identified(plugin, wrap.filter(plugin, filter, use)),
    scorer: (plugin, scorer, use) => identified(plugin, wrap.scorer(plugin, scorer, use)),
    picker: (plugin, picker, use) => identified(plugin, wrap.picker(plugin, picker, use)),
  };
}

function profileOf(
  { name, plugins }: PlannedProfile,
  { made, wrap }: Pick<CreatedPlugins, 'made'> & { readonly wrap: PluginWrap },
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
      const scorer = wrap.scorer(plugin, both, use);
      scorers.push({ name: plugin.name, type, weight, scorer });
    } else {
      picker = wrap.picker(plugin, instance as Picker, use);
    }
  }
  invariant(picker !== undefined, `profile ${name} was planned without a picker`);
  return { name, filters, scorers, picker };
}
