import type { EffectiveConfig, PickerPlan } from '../picker/plan/picker-plan.ts';
import { FILE_DISCOVERY } from './plan/plugin-table.ts';
import { API_VERSION, CONFIG_KIND } from './schema/schema.ts';

type Decided = Omit<PickerPlan, 'handler' | 'flowControl' | 'warnings' | 'notes' | 'effective'> & {
  readonly flowControl: Partial<EffectiveConfig>;
};

/** The plan as a configuration, with everything that was injected or set by default. */
export function effectiveConfig({
  plugins,
  profiles,
  discovery,
  scheduler,
  ejection,
  hold,
  capacity,
  flowControl,
  ...reading
}: Decided): EffectiveConfig {
  return {
    apiVersion: API_VERSION,
    kind: CONFIG_KIND,
    plugins: [...entriesOf(plugins), ...discoveriesOf(discovery)],
    schedulingProfiles: profilesOf(profiles),
    dataLayer: {
      injectDefaults: false,
      ...(discovery !== undefined && { discovery: { pluginRef: FILE_DISCOVERY } }),
    },
    ...(scheduler && { scheduler: schedulerOf(scheduler) }),
    ...(ejection && { ejection }),
    ...(hold && { hold }),
    ...(capacity && { capacity }),
    ...flowControl,
    ...requestHandlerOf(plugins, reading),
  };
}

function entriesOf(plugins: PickerPlan['plugins']): EffectiveConfig['plugins'] {
  return plugins.map(({ name, definition, written }) => ({
    type: definition.type,
    name,
    parameters: written,
  }));
}

function schedulerOf({
  definition,
  config,
  targetsMax,
}: NonNullable<PickerPlan['scheduler']>): NonNullable<EffectiveConfig['scheduler']> {
  return {
    type: definition.type,
    ...(config as object),
    ...(targetsMax > 1 && { maxNumOfEndpoints: targetsMax }),
  };
}

function requestHandlerOf(
  plugins: PickerPlan['plugins'],
  { parsers = [], propagatesPriority = false }: Pick<Decided, 'parsers' | 'propagatesPriority'>,
): Pick<EffectiveConfig, 'requestHandler'> {
  if (parsers.length === 0 && !propagatesPriority) return {};
  return {
    requestHandler: {
      parsers: parsers.map((type) => ({ pluginRef: nameOf(type, plugins) })),
      ...(propagatesPriority && { propagatePriority: true }),
    },
  };
}

function profilesOf(profiles: PickerPlan['profiles']): EffectiveConfig['schedulingProfiles'] {
  return profiles.map((profile) => ({
    name: profile.name,
    plugins: profile.plugins.map(({ plugin, weight }) => ({
      pluginRef: plugin.name,
      ...(plugin.kind === 'scorer' && { weight }),
    })),
  }));
}

/** Plugins of one parser type are all the same. */
function nameOf(type: string, plugins: PickerPlan['plugins']): string {
  return plugins.find(({ definition }) => definition.type === type)?.name ?? type;
}

function discoveriesOf(discovery: PickerPlan['discovery']): EffectiveConfig['plugins'] {
  if (discovery === undefined) return [];
  return [{ type: FILE_DISCOVERY, name: FILE_DISCOVERY, parameters: discovery }];
}
