import { readFileSync } from 'node:fs';
import { DEFAULT_CONFIG, NAMED_CONFIGS } from '../config/defaults.ts';
import { loadConfig, loadConfigAside } from '../config/load.ts';
import { knownFileFault } from '../files/file-fault.ts';
import { readFollowed } from '../files/following/read-followed.ts';
import { nearest } from '../files/reading/nearest.ts';
import { ConfigError, messageOf } from '../framework/error.ts';
import type { PluginCatalogue } from '../framework/plugin.ts';
import type { ConfigNote } from '../picker/plan/config-note.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { SERVING_CATALOGUE } from './built-in-catalogue.ts';
import { withPlugins } from './load-plugins.ts';

/**
 * A file that becomes empty while it is followed is refused: it may be in the middle of a write.
 */
const EMPTY =
  'is empty: the configuration default is in force; leave the flag out, or fill the file';

/** A plan from the name of a built-in configuration or the path of a file. Throws ConfigError. */
export function planFrom(config: string): PickerPlan {
  return planWith(config, SERVING_CATALOGUE);
}

/** What flags add to a configuration. */
export interface PlanAdditions {
  /** The configuration itself, in place of the one that is named. */
  readonly text?: string | undefined;
  /** Gates that come after the configuration's own. */
  readonly featureGates?: readonly string[] | undefined;
}

/**
 * The plan of a configuration that may use the plugin types of these modules. Rejects with
 * ConfigError.
 */
export async function planFromPlugins(
  config: string,
  plugins: readonly string[],
  additions: PlanAdditions = {},
): Promise<PickerPlan> {
  return planWith(config, await withPlugins(SERVING_CATALOGUE, plugins), additions);
}

/** A configuration file that can be read again. */
export interface ConfigFile {
  readonly path: string;
  /** Throws ConfigError. */
  read(): string;
  /** Rejects with ConfigError. */
  load(text: string): Promise<PickerPlan>;
}

/** The file of a configuration; undefined for a built-in configuration. */
export async function configFileOf(
  config: string,
  plugins: readonly string[],
  { text: given, featureGates }: PlanAdditions = {},
): Promise<ConfigFile | undefined> {
  if (NAMED_CONFIGS.has(config) || given !== undefined) return undefined;
  const catalogue = await withPlugins(SERVING_CATALOGUE, plugins);
  return {
    path: config,
    read: () => readText(config, readFollowed),
    load: (text) => loadConfigAside({ text, source: config, catalogue, featureGates }),
  };
}

/**
 * The text of a built-in configuration or of a file, or the one that is given in its place; that of
 * the default where it is empty. Throws ConfigError where there is none of them.
 */
export function configText(config: string, given?: string): string {
  const text = givenText(config, given);
  return isBlank(text) ? DEFAULT_CONFIG : text;
}

function givenText(config: string, given: string | undefined): string {
  return given ?? NAMED_CONFIGS.get(config) ?? readText(config);
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}

function planWith(
  config: string,
  catalogue: PluginCatalogue,
  { text, featureGates }: PlanAdditions = {},
): PickerPlan {
  const named = NAMED_CONFIGS.has(config) ? `built-in configuration ${config}` : config;
  const source = text === undefined ? named : '--config-text';
  const given = givenText(config, text);
  if (!isBlank(given)) return loadConfig({ text: given, source, catalogue, featureGates });
  const plan = loadConfig({ text: DEFAULT_CONFIG, source, catalogue, featureGates });
  const note: ConfigNote = { path: source, reason: 'empty', text: `${source} ${EMPTY}` };
  return { ...plan, notes: [note, ...plan.notes], warnings: [note.text, ...plan.warnings] };
}

/** Without `read`, a pipe is read as well: `check` and the start of a picker may wait for one. */
function readText(path: string, read: (path: string) => Buffer = readFileSync): string {
  try {
    return read(path).toString('utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const names = [...NAMED_CONFIGS.keys()];
    const hint = nearest(path, names) || `; those are ${names.join(', ')}`;
    const message =
      code === 'ENOENT'
        ? `is neither a file nor a built-in configuration${hint}`
        : (knownFileFault(error) ?? `cannot be read: ${messageOf(error)}`);
    throw new ConfigError('configuration', [{ path, message }], { cause: error });
  }
}
