import type { ConfigIssue } from '../framework/error.ts';
import type { PlannedPlugin, PlannedProfile } from '../picker/plan/picker-plan.ts';
import { coreInsteadOf, notYet } from './accepted-sources.ts';
import { nearest } from './nearest.ts';
import { API_VERSION, type EndpointPickerConfig, LEGACY_API_VERSION } from './schema.ts';

/** The reference's feature gates and what they are when not named. */
const FEATURE_GATES: ReadonlyMap<string, boolean> = new Map([
  ['flowControl', false],
  ['haPopulateNonLeaderDatastore', true],
]);

/** Deprecated types and what takes their place. */
const DEPRECATED_TYPES: ReadonlyMap<string, string> = new Map([
  ['by-label', 'label-selector-filter'],
  ['by-label-selector', 'label-selector-filter'],
  ['tokenizer', 'token-producer'],
  ['pd-profile-handler', 'disagg-profile-handler'],
  ['disagg-headers-handler', 'disagg-profile-handler'],
  ['prefill-header-handler', 'disagg-profile-handler'],
]);

/** What a configuration says that has no effect, a sentence each. Unknown feature gates go to `issues`. */
export function configWarnings(
  config: EndpointPickerConfig,
  profiles: readonly PlannedProfile[],
  issues: ConfigIssue[],
): readonly string[] {
  return [
    ...ofFields(config),
    ...ofGates(config.featureGates, issues),
    ...ofPlugins(config),
    ...ofProfiles(config, profiles),
  ];
}

function ofFields(config: EndpointPickerConfig): readonly string[] {
  const { apiVersion, dataLayer } = config;
  const ignored: Readonly<Record<string, unknown>> = {
    flowControl: config.flowControl,
    requestHandler: config.requestHandler,
    saturationDetector: config.saturationDetector,
    parser: config.parser,
    'dataLayer.peerDiscovery': dataLayer.peerDiscovery,
    'dataLayer.crossReplicaSyncerPluginRef': dataLayer.crossReplicaSyncerPluginRef,
  };
  const warnings = Object.entries(ignored)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([path]) => `${path} is accepted but has no effect yet`);
  if (apiVersion === LEGACY_API_VERSION) {
    warnings.unshift(`apiVersion ${apiVersion} is deprecated; write ${API_VERSION}`);
  }
  return warnings;
}

function ofGates(gates: readonly string[], issues: ConfigIssue[]): readonly string[] {
  return gates.flatMap((gate, index) => {
    const [name = '', value = 'true', ...rest] = gate.split('=');
    const path = `featureGates[${index}]`;
    const usual = FEATURE_GATES.get(name);
    if (usual === undefined) {
      const hint = nearest(name, FEATURE_GATES.keys());
      issues.push({ path, message: `${name} is not a known feature gate${hint}` });
      return [];
    }
    if (rest.length > 0 || (value !== 'true' && value !== 'false')) {
      const message = `${gate} is neither ${name}, ${name}=true nor ${name}=false`;
      issues.push({ path, message });
      return [];
    }
    return String(usual) === value ? [] : [`feature gate ${gate} has no effect yet`];
  });
}

function ofPlugins({ plugins }: EndpointPickerConfig): readonly string[] {
  return plugins.flatMap(({ type, parameters }, index) => {
    const path = `plugins[${index}]`;
    const warnings: string[] = [];
    const successor = DEPRECATED_TYPES.get(type);
    if (successor !== undefined) {
      warnings.push(`${path}: ${type} is deprecated; write ${successor}`);
    }
    const instead = coreInsteadOf(type);
    if (instead !== undefined && Object.keys(parameters ?? {}).length > 0) {
      warnings.push(`${path}.parameters have no effect on ${type}: ${instead}`);
    }
    const missing = notYet(type);
    if (missing !== undefined) warnings.push(`${path}: ${type} is accepted, but ${missing}`);
    return warnings;
  });
}

function ofProfiles(
  { schedulingProfiles }: EndpointPickerConfig,
  profiles: readonly PlannedProfile[],
): readonly string[] {
  const planned = new Map<string, PlannedPlugin>();
  for (const { plugin } of profiles.flatMap(({ plugins }) => plugins))
    planned.set(plugin.name, plugin);
  return schedulingProfiles.flatMap(({ plugins }, index) =>
    plugins.flatMap(({ pluginRef, weight }, at) => {
      const kind = planned.get(pluginRef)?.kind;
      if (weight === undefined || kind === undefined || kind === 'scorer') return [];
      const path = `schedulingProfiles[${index}].plugins[${at}].weight`;
      return [`${path} has no effect: ${pluginRef} is a ${kind}, and only scorers are weighed`];
    }),
  );
}
