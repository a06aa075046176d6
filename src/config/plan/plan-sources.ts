import { nearest } from '../../files/reading/nearest.ts';
import type { ConfigIssue } from '../../framework/error.ts';
import { ENGINE_MODEL, IN_FLIGHT, MODELS_IN_FLIGHT } from '../../framework/keys.ts';
import type { KnownPlugin, PlannedPlugin } from '../../picker/plan/picker-plan.ts';
import type { DataLayerEntry } from '../schema/data-layer-schema.ts';
import type { PluginTable } from './plugin-table.ts';

/** Started for every pool, unless `injectDefaults` is false. */
const METRICS_SOURCE = 'metrics-data-source';
const DEFAULT_SOURCES = [METRICS_SOURCE, 'core-metrics-extractor'];
/** With an adaptive interval, samples of endpoints that do nothing are at most so old. */
const ADAPTIVE_AGE_MS = 200;
const CLUSTER_SOURCE = 'multicluster-metrics-data-source';
/** Facts that the picker itself provides, without a data source. */
const CORE_FACTS: ReadonlySet<string> = new Set([
  IN_FLIGHT.name,
  MODELS_IN_FLIGHT.name,
  ENGINE_MODEL.name,
]);

/** Checks references, then injects the default sources and the producers of all needed facts. */
export function planSources(
  { injectDefaults, sources }: DataLayerEntry,
  table: PluginTable,
  issues: ConfigIssue[],
): void {
  sources.forEach(({ pluginRef, extractors }, index) => {
    const path = `dataLayer.sources[${index}]`;
    const wanted = { kinds: ['source'], wanted: 'data source' };
    table.resolve(pluginRef, { path: `${path}.pluginRef`, ...wanted });
    extractors.forEach((extractor, at) => {
      // As in the reference, a plugin of any kind: a scorer may stand for its data source.
      table.find(extractor.pluginRef, `${path}.extractors[${at}].pluginRef`);
    });
  });
  if (injectDefaults) {
    const present = new Set([...table.plugins()].map(({ definition }) => definition.type));
    // Clusters have no metrics page of an engine.
    const defaults = present.has(CLUSTER_SOURCE) ? [] : DEFAULT_SOURCES;
    for (const type of defaults) {
      if (!present.has(type)) table.inject(type, type === METRICS_SOURCE ? scrapes(table) : {});
    }
  }
  // Injected producers have needs, too, and come up later in the same iteration.
  for (const plugin of table.plugins()) {
    for (const { name } of plugin.definition.needs?.(plugin.config as never) ?? []) {
      if (!CORE_FACTS.has(name)) injectProducer(name, plugin, table, issues);
    }
  }
}

/** Parameters of the metrics source where a configuration does not name it. */
function scrapes(table: PluginTable): object {
  const isShorter = ({ config }: PlannedPlugin): boolean => {
    const { metricsStalenessThreshold = ADAPTIVE_AGE_MS } = (config ?? {}) as {
      readonly metricsStalenessThreshold?: number;
    };
    return metricsStalenessThreshold < ADAPTIVE_AGE_MS;
  };
  return [...table.plugins()].some(isShorter) ? {} : { interval: 'adaptive' };
}

function injectProducer(
  fact: string,
  plugin: PlannedPlugin,
  table: PluginTable,
  issues: ConfigIssue[],
): void {
  const provided = new Set([...table.plugins()].flatMap((each) => factsOf(each, each)));
  if (provided.has(fact)) return;
  const defaults = new Map([...table.types()].flatMap(defaultFacts));
  const producer = defaults.get(fact);
  if (producer !== undefined) {
    table.inject(producer);
    return;
  }
  const hint = nearest(fact, [...provided, ...defaults.keys(), ...CORE_FACTS]);
  const message = `${plugin.name} needs ${fact}, which no plugin of this configuration provides${hint}`;
  issues.push({ path: table.pathOf(plugin.name), message });
}

/** The facts that a source of this type provides when it is injected, with default parameters. */
function defaultFacts(known: KnownPlugin): readonly (readonly [fact: string, type: string])[] {
  const { type, config } = known.definition;
  if (known.kind !== 'source' || known.definition.provides === undefined) return [];
  let defaults: unknown;
  try {
    defaults = config.parse({});
  } catch {
    // A source with required parameters cannot be injected.
    return [];
  }
  return factsOf(known, { name: type, config: defaults }).map((fact) => [fact, type]);
}

function factsOf(
  { kind, definition }: KnownPlugin,
  { name, config }: { readonly name: string; readonly config: unknown },
): readonly string[] {
  if (kind !== 'source') return [];
  return definition.provides?.(config, name).map((key) => key.name) ?? [];
}
