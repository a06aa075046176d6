import type { ConfigNote } from '../../picker/plan/config-note.ts';
import type { PlannedPlugin } from '../../picker/plan/picker-plan.ts';
import type { DataLayerEntry } from '../schema/data-layer-schema.ts';
import type { PluginTable } from './plugin-table.ts';

export const METRICS_SOURCE = 'metrics-data-source';
const METRICS_EXTRACTOR = 'core-metrics-extractor';
const CLUSTER_SOURCE = 'multicluster-metrics-data-source';
/** With an adaptive interval, samples of endpoints that do nothing are at most so old. */
const ADAPTIVE_AGE_MS = 200;

/** A source that runs, and the extractors that read its pages, by name. */
interface Reading {
  readonly source: string;
  readonly extractors: readonly string[];
}

/**
 * Finds which pages of metrics are read, and by which extractors, by the reference's rules: the
 * sources that the section names, and beside them the one named as its type, unless the section
 * says no. What is left has nothing to do. Where there is one source with one extractor, the pool's
 * extractor reads it; several have each their extractors among their parameters.
 */
export function planMetricsSources(
  section: DataLayerEntry,
  table: PluginTable,
  notes: ConfigNote[],
): void {
  const named = namedReadings(section, table);
  const usual = section.injectDefaults ? usualReading(named, table) : [];
  const all = [...usual, ...named];
  // Without both, as in a configuration that was filled in, each listed source reads.
  if (all.length === 0) return;
  const readings = all.filter(({ extractors }) => all.length === 1 || extractors.length > 0);
  leaveOut(
    METRICS_SOURCE,
    readings.map(({ source }) => source),
    { table, notes },
  );
  const extractors = readings.flatMap((each) => each.extractors);
  // The reference would read nothing at all.
  if (extractors.length === 0) return;
  leaveOut(METRICS_EXTRACTOR, extractors, { table, notes });
  if (readings.length === 1 && extractors.length === 1) return;
  for (const reading of readings) bind(reading, table);
  for (const each of new Set(extractors)) table.leaveOut(each);
}

/** The sources of the section. One that is named twice has the extractors of both places. */
function namedReadings({ sources }: DataLayerEntry, table: PluginTable): readonly Reading[] {
  const named = new Map<string, string[]>();
  for (const { pluginRef, extractors } of sources) {
    if (table.planned(pluginRef)?.definition.type !== METRICS_SOURCE) continue;
    const names = extractors.map((each) => each.pluginRef);
    const read = names.filter((each) => isExtractor(table.planned(each)));
    named.set(pluginRef, [...(named.get(pluginRef) ?? []), ...read]);
  }
  return [...named].map(([source, extractors]) => ({ source, extractors }));
}

/** The source that the reference adds, where it reads a page that no other one reads. */
function usualReading(named: readonly Reading[], table: PluginTable): readonly Reading[] {
  // Clusters have no metrics page of an engine.
  const hasClusters = [...table.plugins()].some(
    ({ definition }) => definition.type === CLUSTER_SOURCE,
  );
  if (hasClusters || named.some(({ source }) => source === METRICS_SOURCE)) return [];
  const isListed = table.planned(METRICS_SOURCE) !== undefined;
  if (!isListed && named.some(({ source }) => isUsualPage(table.planned(source)))) return [];
  table.inject(METRICS_SOURCE, isListed ? {} : scrapes(table));
  table.inject(METRICS_EXTRACTOR);
  return [{ source: METRICS_SOURCE, extractors: [METRICS_EXTRACTOR] }];
}

function isUsualPage(plugin: PlannedPlugin | undefined): boolean {
  const { scheme, path, port } = (plugin?.config ?? {}) as Readonly<Record<string, unknown>>;
  return scheme === 'http' && path === '/metrics' && port === undefined;
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

/** Takes out the plugins of a type that are not among `kept`, with a note for each. */
export function leaveOut(
  type: string,
  kept: readonly string[],
  { table, notes }: { readonly table: PluginTable; readonly notes: ConfigNote[] },
): void {
  for (const { name, definition } of table.plugins()) {
    if (definition.type !== type || kept.includes(name)) continue;
    const path = table.pathOf(name);
    const place =
      type === METRICS_EXTRACTOR
        ? 'the extractors of a metrics source in dataLayer.sources'
        : 'dataLayer.sources, with an extractor';
    const text = `${path}: ${name} has nothing to do; name it in ${place}, or leave it out`;
    notes.push({ path, reason: 'unused', text });
    table.leaveOut(name);
  }
}

function bind({ source, extractors }: Reading, table: PluginTable): void {
  const plugin = table.planned(source);
  if (plugin === undefined) return;
  table.extend(plugin, { extractors: extractors.map((each) => table.planned(each)?.written) });
}

function isExtractor(plugin: PlannedPlugin | undefined): boolean {
  return plugin?.definition.type === METRICS_EXTRACTOR;
}
