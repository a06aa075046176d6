import { readYaml } from '../../src/files/reading/read-yaml.ts';
import type { Environment } from '../../src/framework/runtime.ts';
import { checkEngineArgs } from './check-engine-args.ts';
import type { EngineArgs } from './engine-args.ts';
import { readFlags, readSettings } from './read-flags.ts';
import { stubFromArgs } from './stub-from-args.ts';

interface CommandLine {
  /** Arguments that this command does not know itself. */
  readonly args: readonly string[];
  /** Values of this command's own flags that vLLM has, too. */
  readonly own: Readonly<Record<string, unknown>>;
  /** Names of all flags of this command, to suggest. */
  readonly ownNames: readonly string[];
  readonly environment: Environment;
  /** A file of settings, and its text. */
  readonly file?: { readonly name: string; readonly text: string } | undefined;
  readonly asSimulator: boolean;
}

interface ReadCommandLine {
  /** The stub's options that the command line sets. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Settings that change nothing here. */
  readonly idle: readonly string[];
}

/**
 * Reads settings of vLLM and llm-d-inference-sim: from flags, else from the environment, else from
 * the file. Throws ConfigError with everything that is wrong.
 */
export function readCommandLine(line: CommandLine): ReadCommandLine {
  const { args, own, ownNames, environment, file, asSimulator } = line;
  const flags = readFlags(args, ownNames);
  const settings =
    file === undefined
      ? { values: {}, idle: [] }
      : readSettings(readYaml(file.text, file.name), file.name);
  const source = file?.name ?? 'settings';
  const given: EngineArgs = {
    ...checkEngineArgs(settings.values, { source, prefix: '' }),
    ...checkEngineArgs(fromEnvironment(environment), { source: 'environment', prefix: '' }),
    ...checkEngineArgs({ ...flags.values, ...own }, { source: 'command line', prefix: '--' }),
  };
  const dataset = given['dataset-path'];
  const isDatabase = dataset !== undefined && /\.(?:sqlite3?|db)$/.test(dataset);
  const used = isDatabase ? { ...given, 'dataset-path': undefined } : given;
  return {
    options: stubFromArgs(used, { asSimulator, environment }),
    idle: [
      ...flags.idle,
      ...settings.idle,
      ...(isDatabase ? ['dataset-path (a database: answers are read from JSON Lines only)'] : []),
    ],
  };
}

function fromEnvironment(environment: Environment): Readonly<Record<string, unknown>> {
  const { SIM_MODEL: model, SIM_ENGINE: engine } = environment;
  return { ...(model && { model }), ...(engine && { engine }) };
}
