import { z } from 'zod';
import { nearest } from '../../files/reading/nearest.ts';
import { PRECISE_PREFIX_PRODUCER } from '../../framework/cycle-facts.ts';
import type { ConfigIssue } from '../../framework/error.ts';
import type { PluginCatalogue, Schema } from '../../framework/plugin.ts';
import type { ConfigNote } from '../../picker/plan/config-note.ts';
import type {
  FileDiscoveryPlan,
  KnownPlugin,
  PlannedPlugin,
} from '../../picker/plan/picker-plan.ts';
import { sameParameters } from '../../picker/plan/same-parameters.ts';
import type { PluginEntry } from '../schema/schema.ts';
import { UNREADABLE } from '../schema/without-faults.ts';
import { knownTypes, whyUnknown } from './known-types.ts';
import { readParameters, writtenParameters } from './read-parameters.ts';

export const FILE_DISCOVERY = 'file-discovery';
/** `file-discovery` for endpoints that are clusters: both take host names. */
export const CLUSTER_DISCOVERY = 'multicluster-file-discovery';

/** The parameters of both. */
export const fileDiscoverySchema: z.ZodType<FileDiscoveryPlan> = z.lazy(() =>
  z.strictObject({
    path: z.string().min(1),
    watchFile: z.boolean().default(false),
  }),
);

/** By type, another type that it adds with its own parameters, as the reference's wrappers do. */
const COMPANIONS: ReadonlyMap<string, string> = new Map([
  ['precise-prefix-cache-scorer', PRECISE_PREFIX_PRODUCER],
]);

/** Plugins that the reference adds to every configuration; the picker only where none is listed. */
const INJECTED: ReadonlySet<string> = new Set([
  'max-score-picker',
  'metrics-data-source',
  'core-metrics-extractor',
  'utilization-detector',
  'fcfs-ordering-policy',
  'global-strict-fairness-policy',
  'static-usage-limit-policy',
]);

/** A configuration's plugins by name: the listed ones, then those added. Errors go to `issues`. */
export class PluginTable {
  readonly #entries: readonly PluginEntry[];
  readonly #types: ReadonlyMap<string, KnownPlugin>;
  /** Where the shape has errors: the indexes of entries with one. */
  readonly #unread: ReadonlySet<number> | undefined;
  readonly #issues: ConfigIssue[];
  readonly #notes: ConfigNote[];
  readonly #plugins = new Map<string, PlannedPlugin>();
  readonly #companions = new Map<string, unknown>();
  readonly #discoveries = new Map<string, FileDiscoveryPlan>();

  constructor(
    entries: readonly PluginEntry[],
    {
      catalogue,
      issues,
      notes,
      unread,
    }: {
      readonly catalogue: PluginCatalogue;
      readonly issues: ConfigIssue[];
      readonly notes: ConfigNote[];
      readonly unread: ReadonlySet<number> | undefined;
    },
  ) {
    this.#entries = entries;
    this.#types = knownTypes(catalogue);
    this.#issues = issues;
    this.#notes = notes;
    this.#unread = unread;
    const names = new Set<string>();
    entries.forEach((entry, index) => {
      const name = nameOf(entry);
      const path = `plugins[${index}]`;
      if (names.has(name) && name !== UNREADABLE) {
        const message = `two plugins are named ${name}; give one of them another name`;
        issues.push({ path: `${path}.name`, message });
      }
      names.add(name);
      if (unread?.has(index) !== true) this.#add(name, entry, path);
    });
  }

  /** A plugin injected during an iteration comes up later in the same iteration. */
  plugins(): MapIterator<PlannedPlugin> {
    return this.#plugins.values();
  }

  types(): MapIterator<KnownPlugin> {
    return this.#types.values();
  }

  discovery(name: string): FileDiscoveryPlan | undefined {
    return this.#discoveries.get(name);
  }

  /** The path of a plugin in the configuration, for messages; `(injected)` if it is not listed. */
  pathOf(name: string): string {
    const index = this.#entries.findIndex((entry) => nameOf(entry) === name);
    return index < 0 ? '(injected)' : `plugins[${index}]`;
  }

  /** Undefined, with an issue, where none is of `kinds`; a plugin with errors has its issue. */
  resolve(
    pluginRef: string,
    {
      path,
      kinds,
      wanted,
    }: { readonly path: string; readonly kinds: readonly string[]; readonly wanted: string },
  ): PlannedPlugin | undefined {
    const found = this.find(pluginRef, path);
    if (found === undefined) return undefined;
    if (!kinds.includes(found.kind)) {
      this.#issues.push({ path, message: `${pluginRef} is a ${found.kind}, not ${wanted}` });
      return undefined;
    }
    return found.kind === 'discovery' ? undefined : found;
  }

  /** Does what `resolve` does, for plugins of every kind. */
  find(
    pluginRef: string,
    path: string,
  ): PlannedPlugin | { readonly kind: 'discovery' } | undefined {
    const plugin = this.#plugins.get(pluginRef);
    if (plugin !== undefined) return plugin;
    if (this.#discoveries.has(pluginRef)) return { kind: 'discovery' };
    if (this.typeOf(pluginRef) !== undefined) return undefined;
    if (this.#isInjected(pluginRef)) return this.inject(pluginRef);
    if (this.#mayName(pluginRef)) return undefined;
    const message = `${pluginRef} is not the name of a plugin in plugins${this.#hintFor(pluginRef)}`;
    this.#issues.push({ path, message });
    return undefined;
  }

  /** What to write in place of a name that no plugin has: the name of its type, for the most part. */
  #hintFor(pluginRef: string): string {
    const named = this.#entries.find(({ type }) => type === pluginRef);
    if (named !== undefined) return `: the ${pluginRef} there is named ${nameOf(named)}`;
    const similar = nearest(pluginRef, this.#entries.map(nameOf));
    if (similar !== '' || !this.#types.has(pluginRef)) return similar;
    return `: add it there with type: ${pluginRef}`;
  }

  /** Whether a plugin that cannot be read may have that name. */
  #mayName(name: string): boolean {
    if (this.#unread === undefined) return false;
    return name === UNREADABLE || this.#entries.some((entry) => nameOf(entry) === UNREADABLE);
  }

  /** The type of the listed plugin of that name. */
  typeOf(name: string): string | undefined {
    return this.#entries.find((entry) => nameOf(entry) === name)?.type;
  }

  /**
   * Whether a plugin of that kind is listed, be it with errors. An unknown type that is called a
   * profile handler is one.
   */
  lists(kind: KnownPlugin['kind']): boolean {
    return this.#entries.some(({ type }) => {
      const known = this.#types.get(type)?.kind;
      const named = type.endsWith('-profile-handler') ? 'handler' : undefined;
      return this.#isUnread(type) || (known ?? named) === kind;
    });
  }

  /** The names of the listed plugins that are of that kind, or whose type is not known. */
  mayBe(kind: KnownPlugin['kind']): ReadonlySet<string> {
    const maybe = this.#entries.filter(
      ({ type }) => (this.#types.get(type)?.kind ?? kind) === kind,
    );
    return new Set(maybe.map(nameOf));
  }

  #isUnread(type: string): boolean {
    return this.#unread !== undefined && type === UNREADABLE;
  }

  /** Whether the reference adds this plugin by itself, so that it need not be listed. */
  #isInjected(name: string): boolean {
    if (!INJECTED.has(name) || !this.#types.has(name)) return false;
    const isPicker = this.#types.get(name)?.kind === 'picker';
    return !isPicker || ![...this.plugins()].some((each) => each.kind === 'picker');
  }

  issue(path: string, message: string): void {
    this.#issues.push({ path, message });
  }

  /** The plugin of that name, listed or added. */
  planned(name: string): PlannedPlugin | undefined {
    return this.#plugins.get(name);
  }

  /** Takes a plugin out of the plan, because nothing names it. */
  leaveOut(name: string): void {
    this.#plugins.delete(name);
  }

  /** The plugin named as its type. Adds it, with these parameters, where there is none. */
  inject(type: string, parameters: object = {}): PlannedPlugin {
    const present = this.#plugins.get(type);
    if (present?.definition.type === type) return present;
    const known = this.#types.get(type);
    if (known === undefined) throw new Error(`the catalogue lacks ${type}, which every plan needs`);
    if (present !== undefined) {
      const message = `${type} is the name of a built-in plugin; give this ${present.definition.type} another name`;
      this.#issues.push({ path: `${this.pathOf(type)}.name`, message });
    }
    return this.#plan(known, type, known.definition.config.parse(parameters), parameters);
  }

  /** Whether the listed plugin of that name is given the parameter. */
  gives(name: string, parameter: string): boolean {
    const entry = this.#entries.find((each) => nameOf(each) === name);
    return Object.hasOwn(entry?.parameters ?? {}, parameter);
  }

  /** Plans a plugin again, with these parameters too. */
  extend(plugin: PlannedPlugin, more: object): void {
    const given = { ...(plugin.written as object), ...more };
    this.#plan(plugin, plugin.name, plugin.definition.config.parse(given), given);
  }

  #plan(known: KnownPlugin, name: string, config: unknown, given: object): PlannedPlugin {
    const written = writtenParameters(known.definition.config, { parsed: config, given });
    const plugin: PlannedPlugin = { ...known, name, config, written };
    this.#plugins.set(name, plugin);
    return plugin;
  }

  #add(name: string, entry: PluginEntry, path: string): void {
    const { type } = entry;
    if (type === FILE_DISCOVERY || type === CLUSTER_DISCOVERY) {
      const plan = this.#read(fileDiscoverySchema, entry, path)?.parsed;
      if (plan !== undefined) this.#discoveries.set(name, plan);
      return;
    }
    const known = this.#types.get(type);
    if (known === undefined) {
      const message = `${type} ${whyUnknown(type, this.#types.keys())}`;
      this.#issues.push({ path: `${path}.type`, message });
      return;
    }
    const read = this.#read(known.definition.config, entry, path);
    if (read === undefined) return;
    this.#plan(known, name, read.parsed, read.given);
    this.#addCompanion(COMPANIONS.get(type), entry, path);
  }

  /** Adds the companion that a type has, unless the configuration lists it itself. */
  #addCompanion(type: string | undefined, { parameters }: PluginEntry, path: string): void {
    if (type === undefined) return;
    const given = parameters ?? {};
    const listed = this.#entries.find((entry) => nameOf(entry) === type);
    const before = listed === undefined ? this.#companions.get(type) : (listed.parameters ?? {});
    if (before === undefined) {
      this.#companions.set(type, given);
      this.#add(type, { type, parameters }, path);
    } else if (!sameParameters(given, {}) && !sameParameters(given, before)) {
      const message = `differ from the parameters that ${type} has already; give them only once`;
      this.#issues.push({ path: `${path}.parameters`, message });
    }
  }

  #read<T>(
    schema: Schema<T>,
    entry: PluginEntry,
    path: string,
  ): { readonly parsed: T; readonly given: object } | undefined {
    const at = `${path}.parameters`;
    return readParameters(schema, entry, { path: at, issues: this.#issues, notes: this.#notes });
  }
}

function nameOf({ name, type }: PluginEntry): string {
  return name ?? type;
}
