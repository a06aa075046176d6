import { PRECISE_PREFIX_PRODUCER, SESSION_ID_ATTRIBUTE } from '../../framework/cycle-facts.ts';
import type { ConfigNote } from '../../picker/plan/config-note.ts';
import { REFERENCE_TYPES, type ReferenceRole } from '../reference/reference-table.ts';
import type { EndpointPickerConfig } from '../schema/schema.ts';

/** Where a plugin of each role has to be named before it does anything. */
const NAMED_IN: ReadonlyMap<ReferenceRole, string> = new Map([
  ['filter', 'schedulingProfiles'],
  ['scorer', 'schedulingProfiles'],
  ['decider', 'the parameters of a profile handler'],
  ['discovery', 'dataLayer.discovery.endpoints'],
  ['parser', 'requestHandler.parsers'],
  ['fairness policy', 'flowControl'],
  ['ordering policy', 'flowControl'],
  ['usage limit policy', 'flowControl.usageLimitPolicyPluginRef'],
  ['saturation detector', 'schedulingProfiles or flowControl.saturationDetector'],
]);
const IN_PROFILES: ReadonlySet<ReferenceRole> = new Set([
  'filter',
  'scorer',
  'saturation detector',
]);

const INDEXES: ReadonlySet<string> = new Set([
  PRECISE_PREFIX_PRODUCER,
  'burst-prefix-cache-producer',
  'multicluster-approx-prefix-cache-producer',
]);
const PLACES: ReadonlySet<string> = new Set([
  'topology-affinity-filter',
  'topology-affinity-scorer',
]);

/**
 * What to write so that something reads what a producer finds; undefined where something reads it.
 */
function unreadBy(
  { type, name = type }: EndpointPickerConfig['plugins'][number],
  types: ReadonlySet<string>,
  used: ReadonlySet<string>,
): string | undefined {
  if (used.has(name)) return undefined;
  if (INDEXES.has(type)) {
    const isWrapped = type === PRECISE_PREFIX_PRODUCER && types.has('precise-prefix-cache-scorer');
    if (isWrapped) return undefined;
    return `no scorer reads what ${name} finds; write prefixMatchInfoProducerName: ${name} at the one that shall`;
  }
  // Plugins of others may read what the reference's own do not.
  if (![...types].every((each) => REFERENCE_TYPES.has(each))) return undefined;
  if (type === 'session-id-producer' && !used.has(SESSION_ID_ATTRIBUTE)) {
    return `nothing reads the sessions that ${name} finds; give a session-affinity-scorer or -filter the source {attribute: ${SESSION_ID_ATTRIBUTE}, producer: ${name}}, or leave it out`;
  }
  if (type === 'topology-extractor' && [...PLACES].every((each) => !types.has(each))) {
    return `nothing reads the places that ${name} finds; list a topology-affinity-scorer or -filter, or leave it out`;
  }
  return undefined;
}

/**
 * A note for each listed plugin that nothing names, although it does nothing by itself. Without
 * profiles, the one that is made of all plugins names the filters and scorers.
 */
export function unusedPlugins(config: EndpointPickerConfig): readonly ConfigNote[] {
  const { plugins, ...sections } = config;
  const used = new Set<string>();
  collect(sections, used);
  for (const { parameters } of plugins) collect(parameters, used);
  const types = new Set(plugins.map(({ type }) => type));
  return plugins.flatMap((plugin, index): readonly ConfigNote[] => {
    const { type, name = type } = plugin;
    const path = `plugins[${index}]`;
    const unread = unreadBy(plugin, types, used);
    if (unread !== undefined) return [{ path, reason: 'unused', text: `${path}: ${unread}` }];
    const role = REFERENCE_TYPES.get(type);
    const place = role && NAMED_IN.get(role);
    if (role === undefined || place === undefined || used.has(name)) return [];
    if (config.schedulingProfiles.length === 0 && IN_PROFILES.has(role)) return [];
    const text = `${path}: ${name} has nothing to do; name it in ${place}, or leave it out`;
    return [{ path, reason: 'unused', text }];
  });
}

/** Every text in `value`, at any depth. */
function collect(value: unknown, texts: Set<string>): void {
  if (typeof value === 'string') texts.add(value);
  else if (typeof value === 'object' && value !== null) {
    for (const each of Object.values(value)) collect(each, texts);
  }
}
