import { readFileSync } from 'node:fs';
import { NAMED_CONFIGS } from '../config/defaults.ts';
import { loadConfig } from '../config/load.ts';
import { ConfigError, messageOf } from '../framework/error.ts';
import type { PluginCatalogue } from '../framework/plugin.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { SERVING_CATALOGUE } from './built-in-catalogue.ts';
import { withPlugins } from './load-plugins.ts';

/** A plan from the name of a built-in configuration or the path of a file. Throws ConfigError. */
export function planFrom(config: string): PickerPlan {
  return planWith(config, SERVING_CATALOGUE);
}

/** The same, with the plugin types of these modules. Rejects with ConfigError. */
export async function planFromPlugins(
  config: string,
  plugins: readonly string[],
): Promise<PickerPlan> {
  return planWith(config, await withPlugins(SERVING_CATALOGUE, plugins));
}

/** A configuration file that can be read again. */
export interface ConfigFile {
  readonly path: string;
  /** Throws ConfigError. */
  read(): string;
  /** Throws ConfigError. */
  load(text: string): PickerPlan;
}

/** The file of a configuration; undefined for a built-in configuration. */
export async function configFileOf(
  config: string,
  plugins: readonly string[],
): Promise<ConfigFile | undefined> {
  if (NAMED_CONFIGS.has(config)) return undefined;
  const catalogue = await withPlugins(SERVING_CATALOGUE, plugins);
  return {
    path: config,
    read: () => readText(config),
    load: (text) => loadConfig({ text, source: config, catalogue }),
  };
}

/** The text of a built-in configuration or of a file. Throws ConfigError. */
export function configText(config: string): string {
  return NAMED_CONFIGS.get(config) ?? readText(config);
}

function planWith(config: string, catalogue: PluginCatalogue): PickerPlan {
  const source = NAMED_CONFIGS.has(config) ? `built-in configuration ${config}` : config;
  return loadConfig({ text: configText(config), source, catalogue });
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const why = messageOf(error);
    const names = [...NAMED_CONFIGS.keys()].join(', ');
    throw new ConfigError(path, [
      {
        path: 'file',
        message: `cannot be read (${why}); give a file or a built-in name: ${names}`,
      },
    ]);
  }
}
