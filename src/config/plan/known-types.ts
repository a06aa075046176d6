import { nearest } from '../../files/reading/nearest.ts';
import type { PluginCatalogue } from '../../framework/plugin.ts';
import type { KnownPlugin } from '../../picker/plan/picker-plan.ts';
import { olderType } from '../reference/older-releases.ts';
import { UNRELEASED_TYPES } from '../reference/reference-table.ts';

/** Every plugin of the catalogue, by its type. */
export function knownTypes(catalogue: PluginCatalogue): ReadonlyMap<string, KnownPlugin> {
  const { filters, scorers, pickers, profileHandlers, deciders, dataSources } = catalogue;
  const known: readonly KnownPlugin[] = [
    ...filters.map((definition) => ({ kind: 'filter' as const, definition })),
    ...scorers.map((definition) => ({ kind: 'scorer' as const, definition })),
    ...pickers.map((definition) => ({ kind: 'picker' as const, definition })),
    ...deciders.map((definition) => ({ kind: 'decider' as const, definition })),
    ...profileHandlers.map((definition) => ({ kind: 'handler' as const, definition })),
    ...dataSources.map((definition) => ({ kind: 'source' as const, definition })),
  ];
  return new Map(known.map((each) => [each.definition.type, each]));
}

/** Says of a type that is not among the known ones what a reader can do about it. */
export function whyUnknown(type: string, known: Iterable<string>): string {
  const older = olderType(type);
  if (older !== undefined) return older;
  const similar = UNRELEASED_TYPES.get(type);
  const advice = nearest(type, known) || ': if it is one of yours, load its module with --plugin';
  return similar === undefined
    ? `is not a known plugin type${advice}`
    : `is in no release of the reference picker, and is not here; ${similar} does a similar work`;
}
