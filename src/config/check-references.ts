import type { PluginTable } from './plan/plugin-table.ts';
import { REFERENCE_TYPES } from './reference/reference-table.ts';
import { replicaReferences } from './schema/data-layer-schema.ts';
import type { EndpointPickerConfig } from './schema/schema.ts';
import { UNREADABLE } from './schema/without-faults.ts';

/** By type, the type of a plugin that finds what it reads, and that nothing adds by itself. */
const READS_FROM: ReadonlyMap<string, string> = new Map([
  ['multicluster-queue-scorer', 'multicluster-metrics-extractor'],
  ['multicluster-kv-cache-utilization-scorer', 'multicluster-metrics-extractor'],
]);

/** What each of these types finds has one place, where a second plugin would write over it. */
const READ_ONCE: ReadonlySet<string> = new Set([
  'multicluster-metrics-data-source',
  'multicluster-metrics-extractor',
]);

/**
 * Checks the references that no plan follows, by the rules of the reference picker: each names a
 * listed plugin, and one of the right kind where the reference asks for a kind.
 */
export function checkReferences(config: EndpointPickerConfig, table: PluginTable): void {
  for (const { pluginRef, path } of parserReferences(config)) {
    if (table.find(pluginRef, path) === undefined) continue;
    const type = table.typeOf(pluginRef) ?? '';
    if (REFERENCE_TYPES.get(type) === 'parser') continue;
    table.issue(path, `${pluginRef} is not a parser; its type is ${type}`);
  }
  for (const { pluginRef, path } of replicaReferences(config.dataLayer)) {
    table.find(pluginRef, path);
  }
  checkBeside(config, table);
  checkReadOnce(config, table);
}

function checkReadOnce({ plugins }: EndpointPickerConfig, table: PluginTable): void {
  plugins.forEach(({ type, name = type }, index) => {
    const first = plugins.findIndex((each) => each.type === type);
    if (!READ_ONCE.has(type) || first === index) return;
    const message = `${name} would read the same of each endpoint as ${plugins[first]?.name ?? type}: one plugin of type ${type} does so; leave out one of them`;
    table.issue(`plugins[${index}]`, message);
  });
}

function checkBeside({ plugins }: EndpointPickerConfig, table: PluginTable): void {
  plugins.forEach(({ type }, index) => {
    const needed = READS_FROM.get(type);
    if (
      needed === undefined ||
      plugins.some(({ type: each }) => each === needed || each === UNREADABLE)
    )
      return;
    const message = `reads what ${needed} finds, which is not in plugins; list it, and name it in dataLayer.sources[].extractors`;
    table.issue(`plugins[${index}]`, message);
  });
}

/** The parsers in force: the deprecated `parser` counts only where the list is empty. */
function parserReferences({
  requestHandler,
  parser,
}: EndpointPickerConfig): readonly { readonly pluginRef: string; readonly path: string }[] {
  const parsers = requestHandler?.parsers ?? [];
  if (parsers.length === 0) {
    return parser ? [{ pluginRef: parser.pluginRef, path: 'parser.pluginRef' }] : [];
  }
  return parsers.map(({ pluginRef }, index) => ({
    pluginRef,
    path: `requestHandler.parsers[${index}].pluginRef`,
  }));
}
