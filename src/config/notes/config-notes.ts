import { nearest } from '../../files/reading/nearest.ts';
import type { ConfigIssue } from '../../framework/error.ts';
import type { ConfigNote } from '../../picker/plan/config-note.ts';
import type { PlannedProfile } from '../../picker/plan/picker-plan.ts';
import { LOAD_PRODUCER, MATCH, OUTPUT_PARAMETERS } from '../plan/in-flight-match.ts';
import { FEATURE_GATES, gateSwitch, isGateOn } from '../reference/feature-gates.ts';
import { olderGate } from '../reference/older-releases.ts';
import { coreInsteadOf } from '../reference/reference-types.ts';
import { replicaSettings } from '../schema/data-layer-schema.ts';
import { API_VERSION, type EndpointPickerConfig, LEGACY_API_VERSION } from '../schema/schema.ts';
import { idleParameters } from './idle-parameters.ts';
import { switchedOff } from './switched-off.ts';
import { switchedOffFields } from './switched-off-fields.ts';
import { unusedPlugins } from './unused-plugins.ts';

const DEPRECATED_TYPES: ReadonlyMap<string, string> = new Map([
  ['by-label', 'label-selector-filter'],
  ['by-label-selector', 'label-selector-filter'],
  ['tokenizer', 'token-producer'],
  ['pd-profile-handler', 'disagg-profile-handler'],
  ['disagg-headers-handler', 'disagg-profile-handler'],
  ['prefill-header-handler', 'disagg-profile-handler'],
]);

/** By type whose work the picker does itself, the parameters that have an effect. */
const EFFECTIVE: ReadonlyMap<string, readonly string[]> = new Map([
  [LOAD_PRODUCER, [MATCH, ...OUTPUT_PARAMETERS]],
]);

/** A note for each part without effect. Adds errors in feature gates to `issues`. */
export function configNotes(
  config: EndpointPickerConfig,
  profiles: readonly PlannedProfile[],
  issues: ConfigIssue[],
): readonly ConfigNote[] {
  return [
    ...fieldNotes(config),
    ...switchedOffFields(config),
    ...gateNotes(config.featureGates, issues),
    ...pluginNotes(config),
    ...unusedPlugins(config),
    ...weightNotes(config, profiles),
  ];
}

function fieldNotes(config: EndpointPickerConfig): readonly ConfigNote[] {
  const { apiVersion, flowControl, requestHandler, parser } = config;
  const notes: ConfigNote[] = [];
  if (apiVersion === LEGACY_API_VERSION) {
    const text = `apiVersion ${apiVersion} is deprecated; write ${API_VERSION}`;
    notes.push({ path: 'apiVersion', reason: 'deprecated', text });
  }
  if (flowControl && !isGateOn(config.featureGates, 'flowControl')) {
    const text =
      'flowControl has no effect, but for its saturationDetector, while the feature gate flowControl is off';
    notes.push({ path: 'flowControl', reason: 'gate-off', text });
  }
  if (parser) {
    const listed = (requestHandler?.parsers ?? []).length > 0;
    const text = listed
      ? 'parser has no effect: requestHandler.parsers is in force; leave out parser'
      : 'parser is deprecated; write requestHandler.parsers';
    notes.push({ path: 'parser', reason: listed ? 'replaced' : 'deprecated', text });
  }
  return [...notes, ...dataLayerNotes(config)];
}

function dataLayerNotes({ dataLayer }: EndpointPickerConfig): readonly ConfigNote[] {
  const notes: ConfigNote[] = replicaSettings(dataLayer).map((path) => ({
    path,
    reason: 'replicas',
    text: `${path} has no effect: replicas share over NATS, at once, where serve gets --replicas-nats`,
  }));
  const { pluginRef, endpoints } = dataLayer.discovery ?? {};
  if (pluginRef && endpoints) {
    const path = 'dataLayer.discovery.pluginRef';
    const text = `${path} has no effect: dataLayer.discovery.endpoints is in force; leave out pluginRef`;
    notes.push({ path, reason: 'replaced', text });
  }
  return notes;
}

function gateNotes(gates: readonly string[], issues: ConfigIssue[]): readonly ConfigNote[] {
  return gates.flatMap((gate, index): readonly ConfigNote[] => {
    const { name, wanted } = gateSwitch(gate);
    const path = `featureGates[${index}]`;
    const byDefault = FEATURE_GATES.get(name);
    const older = olderGate(name);
    if (byDefault === undefined && older !== undefined) {
      const text = `feature gate ${gate} has no effect: ${older}`;
      return [{ path, reason: 'own-way', text }];
    }
    if (byDefault === undefined) {
      const unknown = `is not a known feature gate${nearest(name, FEATURE_GATES.keys())}`;
      issues.push({ path, message: `${name} ${unknown}` });
      return [];
    }
    if (wanted === undefined) {
      const message = `${gate} is not a valid gate; write ${name}, ${name}=true or ${name}=false`;
      issues.push({ path, message });
      return [];
    }
    if (byDefault === wanted || name === 'flowControl') return [];
    const text = `feature gate ${gate} has no effect: every replica follows the endpoints, so that a new leader can serve at once`;
    return [{ path, reason: 'own-way', text }];
  });
}

function pluginNotes({ plugins }: EndpointPickerConfig): readonly ConfigNote[] {
  return plugins.flatMap(({ type, parameters }, index) => {
    const path = `plugins[${index}]`;
    const given = `${path}.parameters`;
    const notes: ConfigNote[] = [];
    const successor = DEPRECATED_TYPES.get(type);
    if (successor !== undefined) {
      const text = `${path}: ${type} is deprecated; write ${successor}`;
      notes.push({ path, reason: 'deprecated', text });
    }
    notes.push(...coreNotes(type, Object.keys(parameters ?? {}), given));
    notes.push(...unverified(parameters, given), ...idleParameters(type, parameters, given));
    notes.push(...switchedOff(type, parameters, given));
    return notes;
  });
}

/** Notes for parameters of a type whose work the picker does itself. */
function coreNotes(type: string, names: readonly string[], path: string): readonly ConfigNote[] {
  const instead = coreInsteadOf(type);
  const idle = names.filter((name) => !EFFECTIVE.get(type)?.includes(name));
  if (instead === undefined || idle.length === 0) return [];
  if (idle.length === names.length) {
    const text = `${path} have no effect on ${type}: ${instead}`;
    return [{ path, reason: 'core', text }];
  }
  return idle.map((name) => {
    const at = `${path}.${name}`;
    return { path: at, reason: 'core', text: `${at} has no effect: ${instead}` };
  });
}

/** The parts of `parameters` that ask for HTTPS without verification. */
function unverified(parameters: unknown, path: string): readonly ConfigNote[] {
  if (typeof parameters !== 'object' || parameters === null) return [];
  const { insecureSkipVerify, scheme, url } = parameters as Readonly<Record<string, unknown>>;
  const isHttps = scheme === 'https' || /^https:/i.test(String(url));
  const at = `${path}.insecureSkipVerify`;
  const text = `${at}: certificates are not verified, so anyone on the way can read and change what is sent; give caCertPath instead`;
  const own: readonly ConfigNote[] =
    insecureSkipVerify === true && isHttps ? [{ path: at, reason: 'unverified', text }] : [];
  const inner = Object.entries(parameters).flatMap(([key, value]) =>
    unverified(value, `${path}.${key}`),
  );
  return [...own, ...inner];
}

function weightNotes(
  { schedulingProfiles }: EndpointPickerConfig,
  profiles: readonly PlannedProfile[],
): readonly ConfigNote[] {
  const kinds = new Map(
    profiles.flatMap(({ plugins }) => plugins.map(({ plugin }) => [plugin.name, plugin.kind])),
  );
  return schedulingProfiles.flatMap(({ plugins }, index) =>
    plugins.flatMap(({ pluginRef, weight }, at): readonly ConfigNote[] => {
      const kind = kinds.get(pluginRef);
      if (weight === undefined || weight === null) return [];
      if (kind === undefined || kind === 'scorer') return [];
      const path = `schedulingProfiles[${index}].plugins[${at}].weight`;
      const text = `${path} has no effect: ${pluginRef} is a ${kind}, and only scorers have weights`;
      return [{ path, reason: 'no-weight', text }];
    }),
  );
}
