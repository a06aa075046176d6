import { nearest } from '../files/nearest.ts';
import type { ConfigIssue } from '../framework/error.ts';
import type { PlannedProfile } from '../picker/plan/picker-plan.ts';
import { coreInsteadOf, isWithoutEffect } from './reference-types.ts';
import { API_VERSION, type EndpointPickerConfig, LEGACY_API_VERSION } from './schema.ts';

/** The reference's feature gates and their defaults. */
const FEATURE_GATES: ReadonlyMap<string, boolean> = new Map([
  ['flowControl', false],
  ['haPopulateNonLeaderDatastore', true],
]);

const DEPRECATED_TYPES: ReadonlyMap<string, string> = new Map([
  ['by-label', 'label-selector-filter'],
  ['by-label-selector', 'label-selector-filter'],
  ['tokenizer', 'token-producer'],
  ['pd-profile-handler', 'disagg-profile-handler'],
  ['disagg-headers-handler', 'disagg-profile-handler'],
  ['prefill-header-handler', 'disagg-profile-handler'],
]);

/** A sentence for each part without effect. Adds errors in feature gates to `issues`. */
export function configWarnings(
  config: EndpointPickerConfig,
  profiles: readonly PlannedProfile[],
  issues: ConfigIssue[],
): readonly string[] {
  return [
    ...fieldWarnings(config),
    ...gateWarnings(config.featureGates, issues),
    ...pluginWarnings(config),
    ...weightWarnings(config, profiles),
  ];
}

function fieldWarnings(config: EndpointPickerConfig): readonly string[] {
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

function gateWarnings(gates: readonly string[], issues: ConfigIssue[]): readonly string[] {
  return gates.flatMap((gate, index) => {
    const [name = '', value = 'true', ...rest] = gate.split('=');
    const path = `featureGates[${index}]`;
    const byDefault = FEATURE_GATES.get(name);
    if (byDefault === undefined) {
      const hint = nearest(name, FEATURE_GATES.keys());
      issues.push({ path, message: `${name} is not a known feature gate${hint}` });
      return [];
    }
    if (rest.length > 0 || (value !== 'true' && value !== 'false')) {
      const message = `${gate} is not a valid gate; write ${name}, ${name}=true or ${name}=false`;
      issues.push({ path, message });
      return [];
    }
    return String(byDefault) === value ? [] : [`feature gate ${gate} has no effect yet`];
  });
}

function pluginWarnings({ plugins }: EndpointPickerConfig): readonly string[] {
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
    warnings.push(...unverified(parameters, `${path}.parameters`));
    if (isWithoutEffect(type)) {
      warnings.push(`${path}: ${type} is accepted, but flow control has no effect yet`);
    }
    return warnings;
  });
}

/** The parts of `parameters` that ask for HTTPS without verification. */
function unverified(parameters: unknown, path: string): readonly string[] {
  if (typeof parameters !== 'object' || parameters === null) return [];
  const { insecureSkipVerify, scheme, url } = parameters as Readonly<Record<string, unknown>>;
  const isHttps = scheme === 'https' || /^https:/i.test(String(url));
  const own =
    insecureSkipVerify === true && isHttps
      ? [
          `${path}.insecureSkipVerify: certificates are not verified, so anyone on the way can read ` +
            'and change what is sent; give caCertPath instead',
        ]
      : [];
  const inner = Object.entries(parameters).flatMap(([key, value]) =>
    unverified(value, `${path}.${key}`),
  );
  return [...own, ...inner];
}

function weightWarnings(
  { schedulingProfiles }: EndpointPickerConfig,
  profiles: readonly PlannedProfile[],
): readonly string[] {
  const kinds = new Map(
    profiles.flatMap(({ plugins }) => plugins.map(({ plugin }) => [plugin.name, plugin.kind])),
  );
  return schedulingProfiles.flatMap(({ plugins }, index) =>
    plugins.flatMap(({ pluginRef, weight }, at) => {
      const kind = kinds.get(pluginRef);
      if (weight === undefined || kind === undefined || kind === 'scorer') return [];
      const path = `schedulingProfiles[${index}].plugins[${at}].weight`;
      return [`${path} has no effect: ${pluginRef} is a ${kind}, and only scorers have weights`];
    }),
  );
}
