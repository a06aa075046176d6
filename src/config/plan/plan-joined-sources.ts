import type { ConfigNote } from '../../picker/plan/config-note.ts';
import type { DataLayerEntry } from '../schema/data-layer-schema.ts';
import { CLUSTER_SOURCE, planClusterSources } from './plan-cluster-sources.ts';
import { METRICS_SOURCE, planMetricsSources } from './plan-metrics-sources.ts';
import { leaveOutSources, namedReadings, type PageTypes } from './plan-readings.ts';
import type { PluginTable } from './plugin-table.ts';

/**
 * Sources, each with the type of its extractor. Without the extractor the reference keeps nothing
 * of the pages.
 */
const WITHOUT_CHOICE: readonly PageTypes[] = [
  { source: 'dcgm-data-source', extractor: 'dcgm-extractor' },
  { source: 'models-data-source', extractor: 'models-data-extractor' },
];
/** Sources of the types of one row may find the same values. */
const JOINED: readonly (readonly string[])[] = [
  [METRICS_SOURCE, CLUSTER_SOURCE],
  ...WITHOUT_CHOICE.map(({ source }) => [source]),
];

/**
 * Finds which sources run where several may find the same value, and gives each its order, which is
 * that of `plugins`: what the first finds counts.
 */
export function planJoinedSources(
  section: DataLayerEntry,
  table: PluginTable,
  notes: ConfigNote[],
): void {
  planMetricsSources(section, table, notes);
  planClusterSources(section, table, notes);
  for (const types of WITHOUT_CHOICE) leaveOutUnnamed(types, section, { table, notes });
  for (const types of JOINED) giveOrder(types, table);
}

/** Where the section names some of several, the others have nothing to do, as in the reference. */
function leaveOutUnnamed(
  types: PageTypes,
  section: DataLayerEntry,
  to: { readonly table: PluginTable; readonly notes: ConfigNote[] },
): void {
  const named = namedReadings(section, types, to.table)
    .filter(({ extractors }) => extractors.length > 0)
    .map(({ source }) => source);
  if (named.length > 0) leaveOutSources(types.source, named, to);
}

function giveOrder(types: readonly string[], table: PluginTable): void {
  const sources = [...table.plugins()].filter(({ definition }) => types.includes(definition.type));
  sources.forEach((source, order) => {
    if (order > 0 && !table.gives(source.name, 'order')) table.extend(source, { order });
  });
}
