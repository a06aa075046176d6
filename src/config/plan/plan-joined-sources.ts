import type { ConfigNote } from '../../picker/plan/config-note.ts';
import type { PlannedPlugin } from '../../picker/plan/picker-plan.ts';
import type { DataLayerEntry } from '../schema/data-layer-schema.ts';
import { leaveOut, METRICS_SOURCE, planMetricsSources } from './plan-metrics-sources.ts';
import type { PluginTable } from './plugin-table.ts';

/** By type of source, the type of the extractor without which the reference keeps nothing of it. */
const EXTRACTORS: ReadonlyMap<string, string> = new Map([
  ['dcgm-data-source', 'dcgm-extractor'],
  ['models-data-source', 'models-data-extractor'],
]);

/**
 * Finds which sources run where several of one type may find the same value, and gives each its
 * order, which is that of `plugins`: what the first finds counts.
 */
export function planJoinedSources(
  section: DataLayerEntry,
  table: PluginTable,
  notes: ConfigNote[],
): void {
  planMetricsSources(section, table, notes);
  for (const type of EXTRACTORS.keys()) leaveOutUnnamed(type, section, { table, notes });
  for (const type of [METRICS_SOURCE, ...EXTRACTORS.keys()]) giveOrder(type, table);
}

/** Where the section names some of several, the others have nothing to do, as in the reference. */
function leaveOutUnnamed(
  type: string,
  { sources }: DataLayerEntry,
  to: { readonly table: PluginTable; readonly notes: ConfigNote[] },
): void {
  const { table } = to;
  const isOf = (name: string, wanted: string | undefined): boolean =>
    table.planned(name)?.definition.type === wanted;
  const named = sources.filter(
    ({ pluginRef, extractors }) =>
      isOf(pluginRef, type) &&
      extractors.some((each) => isOf(each.pluginRef, EXTRACTORS.get(type))),
  );
  if (named.length === 0) return;
  leaveOut(
    type,
    named.map(({ pluginRef }) => pluginRef),
    to,
  );
}

function giveOrder(type: string, table: PluginTable): void {
  sourcesOf(type, table).forEach((source, order) => {
    if (order > 0 && !table.gives(source.name, 'order')) table.extend(source, { order });
  });
}

function sourcesOf(type: string, table: PluginTable): readonly PlannedPlugin[] {
  return [...table.plugins()].filter(({ definition }) => definition.type === type);
}
