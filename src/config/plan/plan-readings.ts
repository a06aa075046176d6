import type { ConfigNote } from '../../picker/plan/config-note.ts';
import type { PlannedPlugin } from '../../picker/plan/picker-plan.ts';
import type { DataLayerEntry } from '../schema/data-layer-schema.ts';
import type { PluginTable } from './plugin-table.ts';

/** A type of data source, and the type of the extractors that read its pages. */
export interface PageTypes {
  readonly source: string;
  readonly extractor: string;
}

/** A source that runs, and the extractors that read its pages, by name. */
export interface SourceReading {
  readonly source: string;
  readonly extractors: readonly string[];
}

interface PlanParts {
  readonly table: PluginTable;
  readonly notes: ConfigNote[];
}

/** The sources that the section names. One that is named twice has the extractors of both places. */
export function namedReadings(
  { sources }: DataLayerEntry,
  { source, extractor }: PageTypes,
  table: PluginTable,
): readonly SourceReading[] {
  const isOf = (name: string, type: string): boolean =>
    table.planned(name)?.definition.type === type;
  const named = new Map<string, string[]>();
  for (const { pluginRef, extractors } of sources) {
    if (!isOf(pluginRef, source)) continue;
    const read = extractors.map((each) => each.pluginRef).filter((each) => isOf(each, extractor));
    named.set(pluginRef, [...(named.get(pluginRef) ?? []), ...read]);
  }
  return [...named].map(([name, extractors]) => ({ source: name, extractors }));
}

/** The listed plugins of a type, in the order of `plugins`. */
export function plannedOf(type: string, table: PluginTable): readonly PlannedPlugin[] {
  return [...table.plugins()].filter(({ definition }) => definition.type === type);
}

/** Takes out the sources of a type that are not among `kept`, with a note for each. */
export function leaveOutSources(type: string, kept: readonly string[], to: PlanParts): void {
  leaveOut(type, kept, 'dataLayer.sources, with an extractor', to);
}

/** Takes out the extractors of a type that are not among `kept`, with a note for each. */
export function leaveOutExtractors(type: string, kept: readonly string[], to: PlanParts): void {
  leaveOut(type, kept, 'the extractors of a metrics source in dataLayer.sources', to);
}

function leaveOut(
  type: string,
  kept: readonly string[],
  place: string,
  { table, notes }: PlanParts,
): void {
  for (const { name } of plannedOf(type, table)) {
    if (kept.includes(name)) continue;
    const path = table.pathOf(name);
    const text = `${path}: ${name} has nothing to do; name it in ${place}, or leave it out`;
    notes.push({ path, reason: 'unused', text });
    table.leaveOut(name);
  }
}

/** Gives each source the parameters of its extractors, which then are no plugins of their own. */
export function bindExtractors(readings: readonly SourceReading[], table: PluginTable): void {
  for (const { source, extractors } of readings) {
    const plugin = table.planned(source);
    if (plugin === undefined) continue;
    table.extend(plugin, { extractors: extractors.map((each) => table.planned(each)?.written) });
  }
  for (const each of new Set(readings.flatMap(({ extractors }) => extractors))) {
    table.leaveOut(each);
  }
}
