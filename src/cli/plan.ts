import { readFileSync } from 'node:fs';
import { builtInCatalogue } from '../config/catalogue.ts';
import { NAMED_CONFIGS } from '../config/defaults.ts';
import { loadConfig } from '../config/load.ts';
import type { PickerPlan } from '../config/picker-plan.ts';
import { dataSources } from '../datalayer/data-sources.ts';
import { ConfigError } from '../framework/error.ts';
import type { PluginCatalogue, ScorerDefinition } from '../framework/plugin.ts';
import { remote } from '../remote/remote.ts';
import type { ShadowData } from '../shadow/start-shadow.ts';
import type { ConfigFile } from './config-reload.ts';
import { withPlugins } from './load-plugins.ts';

/** A plan from a built-in configuration's name or a file's path. Throws ConfigError. */
export function planFrom(config: string, scorers: readonly ScorerDefinition[]): PickerPlan {
  return planWith(config, builtInCatalogue(scorers, dataSources, [remote]));
}

/** The same, with the plugin types that modules outside of the tree bring. Rejects with ConfigError. */
export async function planFromPlugins(
  config: string,
  scorers: readonly ScorerDefinition[],
  plugins: readonly string[],
): Promise<PickerPlan> {
  return planWith(
    config,
    await withPlugins(builtInCatalogue(scorers, dataSources, [remote]), plugins),
  );
}

/** The file of a configuration, to be read again; undefined for one that is built in. */
export async function configFileOf(
  config: string,
  scorers: readonly ScorerDefinition[],
  plugins: readonly string[],
): Promise<ConfigFile | undefined> {
  if (NAMED_CONFIGS.has(config)) return undefined;
  const catalogue = await withPlugins(builtInCatalogue(scorers, dataSources, [remote]), plugins);
  return {
    path: config,
    read: () => readText(config),
    load: (text) => loadConfig({ text, source: config, catalogue }),
  };
}

/** A configuration that is to run as a shadow. Throws ConfigError when it cannot be read. */
export function shadowFrom(
  config: string,
  plugins: readonly string[],
  state: ShadowData['state'] = 'as-it-happened',
): ShadowData {
  const text = NAMED_CONFIGS.get(config) ?? readText(config);
  return { config: text, source: config, plugins, state };
}

function planWith(config: string, catalogue: PluginCatalogue): PickerPlan {
  const named = NAMED_CONFIGS.get(config);
  return loadConfig({
    text: named ?? readText(config),
    source: named === undefined ? config : `built-in configuration ${config}`,
    catalogue,
  });
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const names = [...NAMED_CONFIGS.keys()].join(', ');
    throw new ConfigError(path, [
      { path: 'file', message: `cannot be read (${why}), nor is it a built-in name (${names})` },
    ]);
  }
}
