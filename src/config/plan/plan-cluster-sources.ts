import type { ConfigNote } from '../../picker/plan/config-note.ts';
import type { DataLayerEntry } from '../schema/data-layer-schema.ts';
import {
  bindExtractors,
  leaveOutExtractors,
  leaveOutSources,
  namedReadings,
  type PageTypes,
  plannedOf,
} from './plan-readings.ts';
import type { PluginTable } from './plugin-table.ts';

export const CLUSTER_SOURCE = 'multicluster-metrics-data-source';
export const CLUSTER_EXTRACTOR = 'multicluster-metrics-extractor';

const TYPES: PageTypes = { source: CLUSTER_SOURCE, extractor: CLUSTER_EXTRACTOR };

/**
 * Finds which pages of clusters are read, and by which extractors. Where the section names sources
 * with extractors, the others have nothing to do, as in the reference; else every source reads,
 * with all extractors. One extractor is the pool's; of several, each source gets its own among its
 * parameters.
 */
export function planClusterSources(
  section: DataLayerEntry,
  table: PluginTable,
  notes: ConfigNote[],
): void {
  const named = namedReadings(section, TYPES, table).filter(
    ({ extractors }) => extractors.length > 0,
  );
  if (named.length > 0) {
    const to = { table, notes };
    const sources = named.map(({ source }) => source);
    const extractors = named.flatMap((each) => each.extractors);
    leaveOutSources(CLUSTER_SOURCE, sources, to);
    leaveOutExtractors(CLUSTER_EXTRACTOR, extractors, to);
  }
  const listed = plannedOf(CLUSTER_EXTRACTOR, table).map(({ name }) => name);
  if (listed.length < 2) return;
  const all = plannedOf(CLUSTER_SOURCE, table).map(({ name }) => ({
    source: name,
    extractors: listed,
  }));
  bindExtractors(named.length > 0 ? named : all, table);
}
