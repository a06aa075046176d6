import { PRECISE_PREFIX_PRODUCER } from '../../framework/cycle-facts.ts';
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

/**
 * A note for each listed plugin that nothing names, although it does nothing by itself. Without
 * profiles, the one that is made of all plugins names the filters and scorers.
 */
export function unusedPlugins(config: EndpointPickerConfig): readonly ConfigNote[] {
  const { plugins, ...sections } = config;
  const used = new Set<string>();
  collect(sections, used);
  for (const { parameters } of plugins) collect(parameters, used);
  const hasPreciseScorer = plugins.some(({ type }) => type === 'precise-prefix-cache-scorer');
  return plugins.flatMap(({ type, name = type }, index): readonly ConfigNote[] => {
    const path = `plugins[${index}]`;
    if (type === PRECISE_PREFIX_PRODUCER && !used.has(name) && !hasPreciseScorer) {
      const text = `${path}: no scorer reads what ${name} finds; write prefixMatchInfoProducerName: ${name} at the one that shall`;
      return [{ path, reason: 'unused', text }];
    }
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
