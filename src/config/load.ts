import { z } from 'zod';
import { ConfigError, type ConfigIssue } from '../framework/error.ts';
import type {
  DataSourceDefinition,
  FilterDefinition,
  PickerDefinition,
  PluginCatalogue,
  ProfileHandlerDefinition,
  ScorerDefinition,
} from '../framework/plugin.ts';
import { nearest } from './nearest.ts';
import { readConfig, zodIssues } from './read-config.ts';
import type { EndpointPickerConfig, PluginEntry, ProfileEntry } from './schema.ts';

/** A plugin that is known, with parameters that are checked. */
export type PlannedPlugin = { readonly name: string; readonly config: unknown } & (
  | { readonly kind: 'filter'; readonly definition: FilterDefinition }
  | { readonly kind: 'scorer'; readonly definition: ScorerDefinition }
  | { readonly kind: 'picker'; readonly definition: PickerDefinition }
  | { readonly kind: 'handler'; readonly definition: ProfileHandlerDefinition }
  | { readonly kind: 'source'; readonly definition: DataSourceDefinition }
);

export interface PlannedProfile {
  readonly name: string;
  readonly plugins: readonly { readonly plugin: PlannedPlugin; readonly weight: number }[];
}

export interface FileDiscoveryPlan {
  readonly path: string;
  readonly watchFile: boolean;
}

/** A configuration that can be run: every name resolved, every default filled in. */
export interface PickerPlan {
  readonly plugins: readonly PlannedPlugin[];
  readonly profiles: readonly PlannedProfile[];
  readonly handler: PlannedPlugin & { readonly kind: 'handler' };
  readonly discovery: FileDiscoveryPlan | undefined;
  readonly warnings: readonly string[];
}

export interface LoadOptions {
  /** YAML or JSON. */
  readonly text: string;
  /** What to call it in errors, such as the file's path. */
  readonly source: string;
  readonly catalogue: PluginCatalogue;
}

const FILE_DISCOVERY = 'file-discovery';
const fileDiscoverySchema = z.strictObject({
  path: z.string().min(1),
  watchFile: z.boolean().default(false),
});

const DEFAULT_HANDLER = 'single-profile-handler';
const DEFAULT_PICKER = 'max-score-picker';
const DEFAULT_SOURCES = ['metrics-data-source', 'core-metrics-extractor'];

/** Text to a plan, with the reference's defaults filled in. Throws one ConfigError that lists every issue. */
export function loadConfig({ text, source, catalogue }: LoadOptions): PickerPlan {
  const config = readConfig(text, source);
  const planner = new Planner(config, catalogue);
  const plan = planner.plan();
  if (planner.issues.length > 0 || plan === undefined)
    throw new ConfigError(source, planner.issues);
  return plan;
}

class Planner {
  readonly issues: ConfigIssue[] = [];
  readonly #config: EndpointPickerConfig;
  readonly #definitions: ReadonlyMap<string, Omit<PlannedPlugin, 'name' | 'config'>>;
  readonly #plugins = new Map<string, PlannedPlugin>();
  #discoveries: ReadonlyMap<string, FileDiscoveryPlan> = new Map();

  constructor(config: EndpointPickerConfig, catalogue: PluginCatalogue) {
    this.#config = config;
    this.#definitions = definitionsByType(catalogue);
  }

  plan(): PickerPlan | undefined {
    this.#readPlugins();
    this.#checkSources();
    const profiles = this.#profiles();
    const handler = this.#handler(profiles);
    this.#injectSources();
    this.#checkNeeds();
    const discovery = this.#discovery();
    if (handler === undefined) return undefined;
    const plugins = [...this.#plugins.values()];
    return { plugins, profiles, handler, discovery, warnings: warningsOf(this.#config) };
  }

  #readPlugins(): void {
    const discoveries = new Map<string, FileDiscoveryPlan>();
    const seen = new Set<string>();
    this.#config.plugins.forEach((entry, index) => {
      const name = entry.name ?? entry.type;
      const path = `plugins[${index}]`;
      if (seen.has(name))
        this.#issue(`${path}.name`, `${name} is already the name of another plugin`);
      seen.add(name);
      if (entry.type === FILE_DISCOVERY) {
        const parsed = this.#parse(fileDiscoverySchema, entry, path);
        if (parsed !== undefined) discoveries.set(name, parsed as FileDiscoveryPlan);
      } else {
        const planned = this.#plugin(name, entry, path);
        if (planned !== undefined) this.#plugins.set(name, planned);
      }
    });
    this.#discoveries = discoveries;
  }

  #plugin(name: string, entry: PluginEntry, path: string): PlannedPlugin | undefined {
    const found = this.#definitions.get(entry.type);
    if (found === undefined) {
      const hint = nearest(entry.type, this.#definitions.keys());
      this.#issue(`${path}.type`, `${entry.type} is not a known plugin type${hint}`);
      return undefined;
    }
    const config = this.#parse(found.definition.config, entry, path);
    return config === undefined ? undefined : ({ ...found, name, config } as PlannedPlugin);
  }

  #parse(
    schema: { parse(raw: unknown): unknown },
    { parameters }: PluginEntry,
    path: string,
  ): unknown {
    try {
      return schema.parse(parameters ?? {});
    } catch (error) {
      if (error instanceof z.ZodError) this.issues.push(...zodIssues(error, `${path}.parameters`));
      else
        this.#issue(`${path}.parameters`, error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  #profiles(): readonly PlannedProfile[] {
    const { schedulingProfiles } = this.#config;
    const written =
      schedulingProfiles.length > 0
        ? schedulingProfiles
        : [{ name: 'default', plugins: this.#schedulingPlugins() }];
    const names = new Set<string>();
    return written.map((profile, index) => {
      const path = `schedulingProfiles[${index}]`;
      if (names.has(profile.name)) this.#issue(`${path}.name`, `${profile.name} is used twice`);
      names.add(profile.name);
      const plugins = profile.plugins.flatMap(({ pluginRef, weight = 1 }, at) => {
        const plugin = this.#reference(pluginRef, `${path}.plugins[${at}].pluginRef`);
        return plugin === undefined ? [] : [{ plugin, weight }];
      });
      const pickers = plugins.filter(({ plugin }) => plugin.kind === 'picker');
      if (pickers.length > 1)
        this.#issue(path, `${profile.name} has ${pickers.length} pickers, not one`);
      if (pickers.length > 0) return { name: profile.name, plugins };
      const picker = this.#inject(DEFAULT_PICKER);
      return { name: profile.name, plugins: [...plugins, { plugin: picker, weight: 1 }] };
    });
  }

  #schedulingPlugins(): ProfileEntry['plugins'] {
    return [...this.#plugins.values()]
      .filter(({ kind }) => kind === 'filter' || kind === 'scorer' || kind === 'picker')
      .map(({ name }) => ({ pluginRef: name }));
  }

  #reference(pluginRef: string, path: string): PlannedPlugin | undefined {
    const plugin = this.#plugins.get(pluginRef);
    if (plugin !== undefined) {
      if (plugin.kind !== 'source' && plugin.kind !== 'handler') return plugin;
      this.#issue(path, `${pluginRef} is a ${plugin.kind}, not a filter, scorer or picker`);
    } else if (!this.#config.plugins.some(({ name, type }) => (name ?? type) === pluginRef)) {
      // One that is listed but faulty has had its issue already.
      const hint = nearest(pluginRef, this.#plugins.keys());
      this.#issue(path, `${pluginRef} is not the name of a plugin in plugins${hint}`);
    }
    return undefined;
  }

  #handler(
    profiles: readonly PlannedProfile[],
  ): (PlannedPlugin & { readonly kind: 'handler' }) | undefined {
    const handlers = [...this.#plugins.values()].filter((plugin) => plugin.kind === 'handler');
    if (handlers.length > 1) {
      this.#issue(
        'plugins',
        `${handlers.map(({ name }) => name).join(' and ')}: only one profile handler can run`,
      );
    }
    const handler = handlers[0] ?? this.#inject(DEFAULT_HANDLER);
    if (handler.kind !== 'handler') return undefined;
    if (handler.definition.type === DEFAULT_HANDLER && profiles.length > 1) {
      this.#issue(
        'schedulingProfiles',
        `${DEFAULT_HANDLER} runs one profile, got ${profiles.length}`,
      );
    }
    return handler;
  }

  #injectSources(): void {
    if (!this.#config.dataLayer.injectDefaults) return;
    for (const type of DEFAULT_SOURCES) {
      if (![...this.#plugins.values()].some(({ definition }) => definition.type === type)) {
        this.#inject(type);
      }
    }
  }

  #inject(type: string): PlannedPlugin {
    const known = this.#plugins.get(type);
    if (known !== undefined) return known;
    const found = this.#definitions.get(type);
    if (found === undefined)
      throw new Error(`the catalogue has no ${type}, which every plan needs`);
    const plugin = { ...found, name: type, config: found.definition.config.parse({}) };
    this.#plugins.set(type, plugin as PlannedPlugin);
    return plugin as PlannedPlugin;
  }

  /** A fact is provided by a source of the same configuration; the default producers come unasked. */
  #checkNeeds(): void {
    const needed = [...this.#plugins.values()].flatMap((plugin) =>
      (plugin.definition.needs?.(plugin.config) ?? []).map((key) => ({ plugin, key })),
    );
    for (const { plugin, key } of needed) {
      // The ledger's own fact needs no source.
      if (!key.name.includes('/') || this.#provided().has(key.name)) continue;
      const producer = key.name.slice(key.name.indexOf('/') + 1);
      if (this.#definitions.get(producer)?.kind === 'source') this.#inject(producer);
      if (!this.#provided().has(key.name)) {
        this.#issue(
          `plugins.${plugin.name}`,
          `needs a data producer named ${producer}, and there is none${nearest(producer, this.#plugins.keys())}`,
        );
      }
    }
  }

  #provided(): ReadonlySet<string> {
    const keys = new Set<string>();
    for (const { kind, definition, config, name } of this.#plugins.values()) {
      if (kind !== 'source') continue;
      for (const key of definition.provides?.(config, name) ?? []) keys.add(key.name);
    }
    return keys;
  }

  #checkSources(): void {
    this.#config.dataLayer.sources.forEach(({ pluginRef, extractors }, index) => {
      const path = `dataLayer.sources[${index}]`;
      for (const ref of [pluginRef, ...extractors.map((extractor) => extractor.pluginRef)]) {
        const plugin = this.#plugins.get(ref);
        if (plugin?.kind === 'source') continue;
        const hint = nearest(ref, this.#plugins.keys());
        this.#issue(
          path,
          plugin === undefined
            ? `${ref} is not the name of a plugin${hint}`
            : `${ref} is a ${plugin.kind}, not a data source`,
        );
      }
    });
  }

  #discovery(): FileDiscoveryPlan | undefined {
    const ref = this.#config.dataLayer.discovery?.pluginRef;
    if (ref === undefined) return undefined;
    const found = this.#discoveries.get(ref);
    if (
      found === undefined &&
      !this.#config.plugins.some((entry) => entry.type === FILE_DISCOVERY)
    ) {
      this.#issue('dataLayer.discovery.pluginRef', `${ref} is not a ${FILE_DISCOVERY} plugin`);
    }
    return found;
  }

  #issue(path: string, message: string): void {
    this.issues.push({ path, message });
  }
}

function definitionsByType(
  catalogue: PluginCatalogue,
): ReadonlyMap<string, Omit<PlannedPlugin, 'name' | 'config'>> {
  const known = new Map<string, Omit<PlannedPlugin, 'name' | 'config'>>();
  for (const definition of catalogue.filters)
    known.set(definition.type, { kind: 'filter', definition });
  for (const definition of catalogue.scorers)
    known.set(definition.type, { kind: 'scorer', definition });
  for (const definition of catalogue.pickers)
    known.set(definition.type, { kind: 'picker', definition });
  for (const definition of catalogue.profileHandlers) {
    known.set(definition.type, { kind: 'handler', definition });
  }
  for (const definition of catalogue.dataSources)
    known.set(definition.type, { kind: 'source', definition });
  return known;
}

function warningsOf(config: EndpointPickerConfig): readonly string[] {
  const ignored: readonly (readonly [string, unknown])[] = [
    ['flowControl', config.flowControl],
    ['requestHandler', config.requestHandler],
    ['saturationDetector', config.saturationDetector],
    ['parser', config.parser],
    ['dataLayer.peerDiscovery', config.dataLayer.peerDiscovery],
    ['dataLayer.crossReplicaSyncerPluginRef', config.dataLayer.crossReplicaSyncerPluginRef],
  ];
  const warnings = ignored
    .filter(([, value]) => value !== undefined)
    .map(([path]) => `${path} is accepted but has no effect yet`);
  for (const gate of config.featureGates) warnings.push(`feature gate ${gate} has no effect yet`);
  return warnings;
}
