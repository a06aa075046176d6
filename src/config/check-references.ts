import { CLUSTER_EXTRACTOR, CLUSTER_SOURCE } from './plan/plan-cluster-sources.ts';
import { USUAL_PARSER } from './plan/plan-parsers.ts';
import type { PageTypes } from './plan/plan-readings.ts';
import type { PluginTable } from './plan/plugin-table.ts';
import { REFERENCE_TYPES } from './reference/reference-table.ts';
import { replicaReferences } from './schema/data-layer-schema.ts';
import type { EndpointPickerConfig } from './schema/schema.ts';
import { UNREADABLE } from './schema/without-faults.ts';

const PARSER = 'parser.pluginRef';

const CLUSTERS: PageTypes = { source: CLUSTER_SOURCE, extractor: CLUSTER_EXTRACTOR };

/**
 * By the type of a scorer, the source and the extractor that find what it reads. Neither is added
 * by itself.
 */
const READS_FROM: ReadonlyMap<string, PageTypes> = new Map([
  ['multicluster-queue-scorer', CLUSTERS],
  ['multicluster-kv-cache-utilization-scorer', CLUSTERS],
]);

/**
 * Checks the references that no plan follows, by the rules of the reference picker: each names a
 * listed plugin, and one of the right kind where the reference asks for a kind.
 */
export function checkReferences(config: EndpointPickerConfig, table: PluginTable): void {
  for (const { pluginRef, path } of parserReferences(config)) {
    if (isAddedParser(pluginRef, path, table)) continue;
    if (table.find(pluginRef, path) === undefined) continue;
    const type = table.typeOf(pluginRef) ?? '';
    if (REFERENCE_TYPES.get(type) === 'parser') continue;
    table.issue(path, `${pluginRef} is not a parser; its type is ${type}`);
  }
  for (const { pluginRef, path } of replicaReferences(config.dataLayer)) {
    table.find(pluginRef, path);
  }
  checkBeside(config, table);
}

function checkBeside({ plugins }: EndpointPickerConfig, table: PluginTable): void {
  plugins.forEach(({ type }, index) => {
    const needed = READS_FROM.get(type);
    if (needed === undefined || plugins.some((each) => finds(each, needed))) return;
    const message = `reads what ${needed.extractor} finds, which is not in plugins; list it, and name it in dataLayer.sources[].extractors`;
    table.issue(`plugins[${index}]`, message);
  });
}

/** Whether the plugin is the extractor, or a source with extractors of its own. */
function finds(
  { type, parameters }: EndpointPickerConfig['plugins'][number],
  { source, extractor }: PageTypes,
): boolean {
  if (type === extractor || type === UNREADABLE) return true;
  return type === source && Object.hasOwn(parameters ?? {}, 'extractors');
}

/** The reference adds this one where the deprecated `parser` names it, and where nothing does. */
function isAddedParser(pluginRef: string, path: string, table: PluginTable): boolean {
  return pluginRef === USUAL_PARSER && path === PARSER && table.typeOf(pluginRef) === undefined;
}

/** The parsers in force: the deprecated `parser` counts only where the list is empty. */
function parserReferences({
  requestHandler,
  parser,
}: EndpointPickerConfig): readonly { readonly pluginRef: string; readonly path: string }[] {
  const parsers = requestHandler?.parsers ?? [];
  if (parsers.length === 0) {
    return parser ? [{ pluginRef: parser.pluginRef, path: PARSER }] : [];
  }
  return parsers.map(({ pluginRef }, index) => ({
    pluginRef,
    path: `requestHandler.parsers[${index}].pluginRef`,
  }));
}
