import { Command } from 'commander';
import { SERVING_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import { planFromPlugins } from '../catalogue/plan.ts';
import { NAMED_CONFIGS } from '../config/defaults.ts';
import { planInWords } from '../config/notes/plan-in-words.ts';
import { GENERAL_DIFFERENCES } from '../config/reference/general-differences.ts';
import { referenceDifferences } from '../config/reference/reference-differences.ts';
import { REFERENCE_TYPES } from '../config/reference/reference-table.ts';
import { ConfigError, messageOf } from '../framework/error.ts';
import { noNetwork } from '../framework/runtime.ts';
import { firstOf } from '../framework/values/first-of.ts';
import { trialDecision } from '../library/trial-decision.ts';
import { PluginFaults } from '../picker/faults/plugin-faults.ts';
import type { ConfigNote } from '../picker/plan/config-note.ts';
import { createPlugins } from '../picker/plan/create-plugins.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { pluginOption } from './options/option-values.ts';

interface CheckFlags {
  readonly config?: string;
  readonly json: boolean;
  readonly likeReference: boolean;
  readonly plugin: readonly string[];
}

/** `pointsman check`: reads a configuration as `serve` would, and prints what would run. */
export function checkCommand(): Command {
  return new Command('check')
    .description(
      'check a configuration: list its errors, or say what would run and which parts have no effect',
    )
    .argument('[file|name]', 'EndpointPickerConfig file, or name of a built-in configuration')
    .option('--config <name|file>', 'the same, as serve and simulate name it')
    .addOption(pluginOption())
    .option('--like-reference', 'also print what behaves otherwise than in llm-d-router', false)
    .option('--json', 'print one JSON document', false)
    .action(async (file: string | undefined, flags: CheckFlags) => {
      const plan = await planFromPlugins(configOf(file, flags.config), flags.plugin);
      if (flags.plugin.length > 0 && !startsOthers(plan)) tryDecision(plan);
      else tryPlugins(plan);
      const shown = {
        ...shownOf(plan),
        ...(flags.likeReference ? differencesOf(plan) : NOT_COMPARED),
      };
      const text = flags.json ? `${JSON.stringify(shown, undefined, 2)}\n` : asText(shown);
      process.stdout.write(text);
    });
}

/** The configuration that is named in either way. Throws ConfigError for both, and for neither. */
function configOf(file: string | undefined, config: string | undefined): string {
  if (file !== undefined && config !== undefined) {
    const message = `names ${config}, and ${file} is given, too; give one of them`;
    throw new ConfigError('check', [{ path: '--config', message }]);
  }
  const given = file ?? config;
  if (given !== undefined) return given;
  const names = [...NAMED_CONFIGS.keys()].join(', ');
  const message = `is missing; give a file, or a built-in configuration: ${names}`;
  throw new ConfigError('check', [{ path: '--config', message }]);
}

/**
 * Makes the plugins that start nothing, because their own code may fail only then. Throws
 * ConfigError.
 */
function tryPlugins(plan: PickerPlan): void {
  const network = noNetwork('check');
  const runtime = { clock: new SimulatedClock(), random: seededRandom(0), network };
  createPlugins(plan, { runtime, kept: new Map(), faults: new PluginFaults() });
}

/** Whether the plan has a data source from outside: what it would start is not known. */
function startsOthers({ plugins }: PickerPlan): boolean {
  const { dataSources } = SERVING_CATALOGUE;
  return plugins.some(
    ({ kind, definition }) => kind === 'source' && !dataSources.includes(definition),
  );
}

/**
 * Makes all plugins and a module's scheduler, and has them decide once: those from outside may fail
 * only where they are called. Throws ConfigError with each call that fails.
 */
function tryDecision(plan: PickerPlan): void {
  const { scheduler } = plan;
  const isRemote =
    scheduler !== undefined && SERVING_CATALOGUE.schedulers.includes(scheduler.definition);
  const faults = trialDecision(isRemote ? { ...plan, scheduler: undefined } : plan);
  if (faults.length === 0) return;
  throw new ConfigError(
    'a decision between two idle endpoints',
    faults.map(({ kind, name, call, error }) => ({
      path: `${kind} ${name}`,
      message: `failed in ${call}: ${messageOf(error)}`,
    })),
  );
}

interface Shown {
  readonly plugins: readonly { name: string; type: string; kind: string; parameters: unknown }[];
  readonly profiles: readonly {
    readonly name: string;
    readonly plugins: readonly { name: string; weight?: number }[];
  }[];
  readonly handler: string;
  readonly discovery: PickerPlan['discovery'];
  readonly warnings: readonly string[];
  readonly words: readonly string[];
  readonly notes: readonly ConfigNote[];
  /** Undefined unless asked for. */
  readonly differences: readonly string[] | undefined;
  /** What differs with every configuration; undefined unless asked for. */
  readonly generalDifferences: readonly string[] | undefined;
}

type Differences = Pick<Shown, 'differences' | 'generalDifferences'>;

const NOT_COMPARED: Differences = { differences: undefined, generalDifferences: undefined };

function differencesOf(plan: PickerPlan): Differences {
  return { differences: referenceDifferences(plan), generalDifferences: GENERAL_DIFFERENCES };
}

function shownOf(plan: PickerPlan): Omit<Shown, keyof Differences> {
  return {
    plugins: plan.plugins.map(({ name, kind, definition, config: parameters }) => ({
      name,
      type: definition.type,
      // In the program policies are sources and detectors are filters; users read what they are
      // for.
      kind: REFERENCE_TYPES.get(definition.type) ?? kind,
      parameters: plain(parameters),
    })),
    profiles: plan.profiles.map(({ name, plugins }) => ({
      name,
      plugins: plugins.map(({ plugin, weight }) => ({
        name: plugin.name,
        ...(plugin.kind === 'scorer' && { weight }),
      })),
    })),
    handler: plan.handler.name,
    discovery: plan.discovery,
    warnings: plan.warnings,
    words: planInWords(plan),
    notes: plan.notes,
  };
}

/** With an object in place of each Map, which JSON would show as empty. */
function plain(value: unknown): unknown {
  if (value instanceof Map) return plain(Object.fromEntries(value));
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
}

/** So many notes with one reason are shown, as an operator's screen has no room for thousands. */
const NOTES_SHOWN = 20;

function noteLines(notes: readonly ConfigNote[]): readonly string[] {
  const byReason = [...Map.groupBy(notes, ({ reason }) => reason)].map(([reason, alike]) => ({
    reason,
    ...firstOf(alike, NOTES_SHOWN),
  }));
  const shown = new Set(byReason.flatMap((group) => group.shown));
  return [
    ...notes
      .filter((note) => shown.has(note))
      .flatMap(({ reason, text }) => ['', `warning (${reason}): ${text}`]),
    ...byReason
      .filter(({ more }) => more > 0)
      .flatMap(({ reason, more }) => [
        '',
        `warning (${reason}): and ${more} more like these; --json has all`,
      ]),
  ];
}

function asText(shown: Shown): string {
  const { plugins, profiles, words, notes, differences, generalDifferences } = shown;
  const lines = ['ok', '', ...words, '', 'plugins'];
  const width = Math.max(...plugins.map(({ kind }) => kind.length));
  for (const { name, kind, parameters } of plugins) {
    lines.push(`  ${kind.padEnd(width)}  ${name.padEnd(32)} ${JSON.stringify(parameters)}`);
  }
  for (const profile of profiles) {
    lines.push('', `profile ${profile.name}`);
    for (const { name, weight } of profile.plugins) {
      lines.push(`  ${name}${weight === undefined ? '' : ` × ${weight}`}`);
    }
  }
  lines.push(...noteLines(notes));
  if (differences !== undefined) {
    lines.push('', 'differs from llm-d-router', ...differences.map((text) => `  ${text}`));
    if (differences.length === 0) lines.push('  nothing in this configuration');
  }
  if (generalDifferences !== undefined) {
    lines.push('', 'differs from llm-d-router with every configuration');
    lines.push(...generalDifferences.map((text) => `  ${text}`));
  }
  return `${lines.join('\n')}\n`;
}
