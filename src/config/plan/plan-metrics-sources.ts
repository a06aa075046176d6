import type { ConfigNote } from '../../picker/plan/config-note.ts';
import type { PlannedPlugin } from '../../picker/plan/picker-plan.ts';
import type { DataLayerEntry } from '../schema/data-layer-schema.ts';
import { CLUSTER_SOURCE } from './plan-cluster-sources.ts';
import {
  bindExtractors,
  leaveOutExtractors,
  leaveOutSources,
  namedReadings,
  type PageTypes,
  plannedOf,
  type SourceReading,
} from './plan-readings.ts';
import type { PluginTable } from './plugin-table.ts';

export const METRICS_SOURCE = 'metrics-data-source';
const METRICS_EXTRACTOR = 'core-metrics-extractor';
/** With an adaptive interval, samples of endpoints that do nothing are at most so old. */
const ADAPTIVE_AGE_MS = 200;

const TYPES: PageTypes = { source: METRICS_SOURCE, extractor: METRICS_EXTRACTOR };

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
  const named = namedReadings(section, TYPES, table);
  const usual = section.injectDefaults ? usualReading(named, table) : [];
  const all = [...usual, ...named];
  if (all.length === 0) {
    readAlike(table);
    return;
  }
  const readings = all.filter(({ extractors }) => all.length === 1 || extractors.length > 0);
  const to = { table, notes };
  leaveOutSources(
    METRICS_SOURCE,
    readings.map(({ source }) => source),
    to,
  );
  const extractors = readings.flatMap((each) => each.extractors);
  // The reference would read nothing at all.
  if (extractors.length === 0) return;
  leaveOutExtractors(METRICS_EXTRACTOR, extractors, to);
  // A source without extractors of its own writes over what another source finds.
  const isAlone = readings.length === 1 && plannedOf(CLUSTER_SOURCE, table).length === 0;
  if (isAlone && extractors.length === 1) return;
  bindExtractors(readings, table);
}

/**
 * Where nothing is named or added, as in a configuration that was filled in, each listed source
 * reads: several read by one extractor, so that what the first finds counts.
 */
function readAlike(table: PluginTable): void {
  const all = plannedOf(METRICS_SOURCE, table);
  const without = all.filter(({ config }) => !hasExtractors(config));
  if (all.length < 2 || without.length === 0) return;
  table.inject(METRICS_EXTRACTOR);
  const extractors = [METRICS_EXTRACTOR];
  bindExtractors(
    without.map(({ name }) => ({ source: name, extractors })),
    table,
  );
}

function hasExtractors(config: unknown): boolean {
  return (config as { readonly extractors?: unknown }).extractors !== undefined;
}

/** The source that the reference adds, where it reads a page that no other one reads. */
function usualReading(
  named: readonly SourceReading[],
  table: PluginTable,
): readonly SourceReading[] {
  if (named.some(({ source }) => source === METRICS_SOURCE)) return [];
  const isListed = table.planned(METRICS_SOURCE) !== undefined;
  // Clusters have no metrics page of an engine.
  const hasClusters = plannedOf(CLUSTER_SOURCE, table).length > 0;
  if (!isListed && hasClusters) return [];
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
