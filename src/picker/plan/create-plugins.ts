import { ConfigError } from '../../framework/error.ts';
import type { Observer } from '../../framework/observer.ts';
import type { Runtime } from '../../framework/runtime.ts';
import type { Decider, Filter, Picker, Scorer } from '../../framework/scheduling.ts';
import { guardedRuntime } from '../faults/guarded-runtime.ts';
import type { PluginFaults } from '../faults/plugin-faults.ts';
import type { PickerPlan, PlannedPlugin } from './picker-plan.ts';
import { sameParameters } from './same-parameters.ts';

export interface PluginInstance {
  readonly plugin: PlannedPlugin;
  readonly instance: Observer;
}

/** By name in the configuration. The profile handler is always made again. */
export type PluginInstances = ReadonlyMap<string, PluginInstance>;

/** Plugins by name in the configuration, however many profiles name them. */
export interface CreatedPlugins {
  readonly made: ReadonlyMap<string, (Filter | Scorer | Picker) & Observer>;
  readonly deciders: ReadonlyMap<string, Decider & Observer>;
}

interface CreateOptions {
  readonly runtime: Runtime;
  /** Plugins to use again where name, type and parameters are equal. */
  readonly kept: PluginInstances;
  readonly faults: PluginFaults;
}

/**
 * Makes filters, scorers, pickers and deciders of a plan, which start nothing. Throws ConfigError
 * for a plugin whose `create` throws, is asynchronous, or returns an object without the kind's
 * method.
 */
export function createPlugins(
  plan: PickerPlan,
  { runtime, kept, faults }: CreateOptions,
): CreatedPlugins {
  const made = new Map<string, (Filter | Scorer | Picker) & Observer>();
  const deciders = new Map<string, Decider & Observer>();
  for (const plugin of plan.plugins) {
    const { name, kind, definition, config } = plugin;
    if (kind === 'source' || kind === 'handler') continue;
    const known = keptInstance(kept, plugin);
    const guarded = guardedRuntime(runtime, plugin, faults);
    if (kind === 'decider') {
      const decider =
        (known as Decider | undefined) ?? created(plugin, () => definition.create(config, guarded));
      faults.identify(decider, plugin);
      deciders.set(name, decider);
    } else {
      const instance =
        (known as Filter | undefined) ??
        created<Filter | Scorer | Picker>(plugin, () => definition.create(config, guarded));
      faults.identify(instance, plugin);
      made.set(name, instance);
    }
  }
  return { made, deciders };
}

/** A method that each plugin of the kind has. */
const METHOD: Readonly<Record<PlannedPlugin['kind'], string>> = {
  filter: 'filter',
  scorer: 'score',
  picker: 'pick',
  decider: 'separates',
  handler: 'next',
  source: 'stop',
};

/** What `create` returns, which must be an object with the kind's method. Throws ConfigError. */
export function created<Part>(plugin: PlannedPlugin, create: () => Part): Part {
  const { name, kind, definition } = plugin;
  const method = METHOD[kind];
  const call = kind === 'source' ? 'start' : 'create';
  const refuse = (what: string): never => {
    const path = `${name} (${kind} of type ${definition.type})`;
    throw new ConfigError('plugins', [{ path, message: `its ${call}() ${what}` }]);
  };
  let part: Part;
  try {
    part = create();
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    return refuse(`has thrown: ${String(error)}`);
  }
  const members = (part ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof members['then'] === 'function') {
    const why = 'plugins are made while nothing waits, so it must be synchronous';
    return refuse(`has returned a promise; ${why}`);
  }
  if (typeof members[method] === 'function') return part;
  return refuse(`has returned no object with a method ${method}()`);
}

/**
 * The instance of an earlier plan with the same name, kind, type and parameters, if there is one.
 */
export function keptInstance(kept: PluginInstances, plugin: PlannedPlugin): Observer | undefined {
  const known = kept.get(plugin.name);
  const same =
    known !== undefined &&
    known.plugin.kind === plugin.kind &&
    known.plugin.definition.type === plugin.definition.type &&
    sameParameters(known.plugin.config, plugin.config);
  return same ? known.instance : undefined;
}
