import { z } from 'zod';
import type { ConfigIssue } from '../framework/error.ts';
import type { PluginCatalogue, Schema } from '../framework/plugin.ts';
import type { FileDiscoveryPlan, KnownPlugin, PlannedPlugin } from '../picker/plan/picker-plan.ts';
import { sameParameters } from '../picker/plan/same-parameters.ts';
import { COMPANIONS } from './companions.ts';
import { nearest } from './nearest.ts';
import type { PluginEntry } from './schema.ts';
import { UNSUPPORTED_TYPES } from './unsupported-types.ts';
import { writtenParameters } from './written-parameters.ts';
import { zodIssues } from './zod-issues.ts';

export const FILE_DISCOVERY = 'file-discovery';

const fileDiscoverySchema: z.ZodType<FileDiscoveryPlan> = z.strictObject({
  path: z.string().min(1),
  watchFile: z.boolean().default(false),
});

/** The plugins of one configuration by name: those listed, then those injected. Faults go to `issues`. */
export class PluginTable {
  readonly #entries: readonly PluginEntry[];
  readonly #types: ReadonlyMap<string, KnownPlugin>;
  readonly #issues: ConfigIssue[];
  readonly #plugins = new Map<string, PlannedPlugin>();
  /** Types that came with another plugin, and the parameters they came with. */
  readonly #brought = new Map<string, unknown>();
  readonly #discoveries = new Map<string, FileDiscoveryPlan>();

  constructor(
    entries: readonly PluginEntry[],
    { catalogue, issues }: { readonly catalogue: PluginCatalogue; readonly issues: ConfigIssue[] },
  ) {
    this.#entries = entries;
    this.#types = typesOf(catalogue);
    this.#issues = issues;
    const names = new Set<string>();
    entries.forEach((entry, index) => {
      const name = nameOf(entry);
      const path = `plugins[${index}]`;
      if (names.has(name)) {
        issues.push({ path: `${path}.name`, message: `${name} is another plugin's name already` });
      }
      names.add(name);
      this.#read(name, entry, path);
    });
  }

  /** A plugin that was injected meanwhile comes up in an iteration already begun. */
  plugins(): MapIterator<PlannedPlugin> {
    return this.#plugins.values();
  }

  types(): MapIterator<KnownPlugin> {
    return this.#types.values();
  }

  discovery(name: string): FileDiscoveryPlan | undefined {
    return this.#discoveries.get(name);
  }

  /** Where a plugin is listed, for messages; `(injected)` if it is not. */
  pathOf(name: string): string {
    const index = this.#entries.findIndex((entry) => nameOf(entry) === name);
    return index < 0 ? '(injected)' : `plugins[${index}]`;
  }

  /** The plugin a reference means, or undefined and an issue. A plugin that is listed but faulty has had its issue. */
  resolve(
    pluginRef: string,
    {
      path,
      kinds,
      wanted,
    }: { readonly path: string; readonly kinds: readonly string[]; readonly wanted: string },
  ): PlannedPlugin | undefined {
    const plugin = this.#plugins.get(pluginRef);
    const kind = plugin?.kind ?? (this.#discoveries.has(pluginRef) ? 'discovery' : undefined);
    if (kind === undefined) {
      if (this.#entries.some((entry) => nameOf(entry) === pluginRef)) return undefined;
      const hint = nearest(pluginRef, this.#entries.map(nameOf));
      const message = `${pluginRef} is not the name of a plugin in plugins${hint}`;
      this.#issues.push({ path, message });
      return undefined;
    }
    if (kinds.includes(kind)) return plugin;
    this.#issues.push({ path, message: `${pluginRef} is a ${kind}, not a ${wanted}` });
    return undefined;
  }

  /** The plugin of this type that goes by its type's name, made with default parameters if it is not there yet. */
  inject(type: string): PlannedPlugin {
    const present = this.#plugins.get(type);
    if (present?.definition.type === type) return present;
    const known = this.#types.get(type);
    if (known === undefined) throw new Error(`the catalogue lacks ${type}, which plans rely on`);
    if (present !== undefined) {
      const message = `${type} is the name of a plugin that is always there, not of a ${present.definition.type}`;
      this.#issues.push({ path: `${this.pathOf(type)}.name`, message });
    }
    const config = known.definition.config.parse({});
    const written = writtenParameters(known.definition.config, { parsed: config, given: {} });
    const plugin: PlannedPlugin = { ...known, name: type, config, written };
    this.#plugins.set(type, plugin);
    return plugin;
  }

  #read(name: string, entry: PluginEntry, path: string): void {
    if (entry.type === FILE_DISCOVERY) {
      this.#parse(fileDiscoverySchema, entry, path, (plan) => this.#discoveries.set(name, plan));
      return;
    }
    const known = this.#types.get(entry.type);
    if (known === undefined) {
      const message = UNSUPPORTED_TYPES.has(entry.type)
        ? `${entry.type} is a plugin type of the reference picker that is not supported yet`
        : `${entry.type} is not a known plugin type${nearest(entry.type, this.#types.keys())}`;
      this.#issues.push({ path: `${path}.type`, message });
      return;
    }
    this.#parse(known.definition.config, entry, path, (config) => {
      const given = entry.parameters ?? {};
      const written = writtenParameters(known.definition.config, { parsed: config, given });
      this.#plugins.set(name, { ...known, name, config, written });
      this.#bring(COMPANIONS.get(entry.type), entry, path);
    });
  }

  /** The plugin that one of this type comes with, unless the configuration lists it itself. */
  #bring(type: string | undefined, { parameters }: PluginEntry, path: string): void {
    if (type === undefined) return;
    const given = parameters ?? {};
    const listed = this.#entries.find((entry) => nameOf(entry) === type);
    const before = listed === undefined ? this.#brought.get(type) : (listed.parameters ?? {});
    if (before === undefined) {
      this.#brought.set(type, given);
      this.#read(type, { type, parameters }, path);
    } else if (!sameParameters(given, {}) && !sameParameters(given, before)) {
      const message = `are for ${type}, which has its parameters from elsewhere; give them there alone`;
      this.#issues.push({ path: `${path}.parameters`, message });
    }
  }

  #parse<T>(
    schema: Schema<T>,
    { parameters }: PluginEntry,
    path: string,
    then: (parsed: T) => void,
  ): void {
    let parsed: T;
    try {
      parsed = schema.parse(parameters ?? {});
    } catch (error) {
      const at = `${path}.parameters`;
      if (error instanceof z.ZodError) this.#issues.push(...zodIssues(error, { schema, at }));
      else
        this.#issues.push({
          path: at,
          message: error instanceof Error ? error.message : String(error),
        });
      return;
    }
    then(parsed);
  }
}

function nameOf({ name, type }: PluginEntry): string {
  return name ?? type;
}

function typesOf(catalogue: PluginCatalogue): ReadonlyMap<string, KnownPlugin> {
  const { filters, scorers, pickers, profileHandlers, deciders, dataSources } = catalogue;
  const known: readonly KnownPlugin[] = [
    ...filters.map((definition) => ({ kind: 'filter' as const, definition })),
    ...scorers.map((definition) => ({ kind: 'scorer' as const, definition })),
    ...pickers.map((definition) => ({ kind: 'picker' as const, definition })),
    ...deciders.map((definition) => ({ kind: 'decider' as const, definition })),
    ...profileHandlers.map((definition) => ({ kind: 'handler' as const, definition })),
    ...dataSources.map((definition) => ({ kind: 'source' as const, definition })),
  ];
  return new Map(known.map((each) => [each.definition.type, each]));
}
