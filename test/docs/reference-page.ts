import type { Argument, Command, Option } from 'commander';
import { checkCommand } from '../../src/commands/check-command.ts';
import { completionCommand } from '../../src/commands/completion-command.ts';
import { demoCommand } from '../../src/commands/demo-command.ts';
import { doctorCommand } from '../../src/commands/doctor-command.ts';
import { explainCommand } from '../../src/commands/explain-command.ts';
import { gatewayCommand } from '../../src/commands/gateway-command.ts';
import { redecideCommand } from '../../src/commands/redecide-command.ts';
import { replayCommand } from '../../src/commands/replay-command.ts';
import { schedulerCommand } from '../../src/commands/scheduler-command.ts';
import { serveCommand } from '../../src/commands/serve-command.ts';
import { shadowCommand } from '../../src/commands/shadow-command.ts';
import { sidecarCommand } from '../../src/commands/sidecar-command.ts';
import { simulateCommand } from '../../src/commands/simulate-command.ts';
import { topCommand } from '../../src/commands/top-command.ts';
import { traceCommand } from '../../src/commands/trace-command.ts';
import { calibrateCommand } from '../../stub-server/calibration/calibrate-command.ts';
import { stubCommand } from '../../stub-server/main.ts';

/** The guide that explains a command. */
const GUIDES: Readonly<Record<string, readonly string[]>> = {
  serve: ['configuration', 'kubernetes', 'metrics'],
  check: ['configuration'],
  doctor: ['doctor', 'troubleshooting'],
  simulate: ['simulate'],
  redecide: ['trace-format'],
  trace: ['trace-format'],
  replay: ['replay'],
  shadow: ['shadows', 'promotion'],
  explain: ['explain'],
  scheduler: ['schedulers'],
  sidecar: ['disaggregation'],
  gateway: ['gateway'],
  stub: ['stub'],
  calibrate: ['stub-accuracy'],
};

/** A command with its parents' names, such as `shadow top`. */
export interface NamedCommand {
  readonly name: string;
  readonly command: Command;
}

/** Every command of the program, in the order of the reference page. */
export function allCommands(): readonly NamedCommand[] {
  const nothing = (): Promise<never> => Promise.reject(new Error('not run by the reference page'));
  const top = [
    serveCommand(),
    checkCommand(),
    doctorCommand(),
    simulateCommand(),
    redecideCommand(),
    replayCommand(),
    traceCommand(),
    shadowCommand(),
    topCommand(),
    explainCommand(),
    schedulerCommand(),
    sidecarCommand(),
    gatewayCommand(),
    stubCommand(nothing),
    calibrateCommand(),
    demoCommand(nothing),
    completionCommand(nothing),
  ];
  return top.flatMap((command) => named(command, ''));
}

/** The text of docs/reference.md, made from the commands. */
export function referencePage(): string {
  const sections = allCommands().map(section);
  return `# Reference: every command and its flags

\`npx pointsman <command> --help\` prints the same. This page is generated from the commands: after a change of a
flag run \`npm test -- test/docs/docs.test.ts -u\`.

With \`--json\` a command prints exactly one JSON document on stdout. Logs and progress go to stderr.

${sections.join('\n')}`;
}

function named(command: Command, parent: string): readonly NamedCommand[] {
  const name = `${parent}${command.name()}`;
  if (command.commands.length === 0) return [{ name, command }];
  return command.commands.flatMap((child) => named(child, `${name} `));
}

function section({ name, command }: NamedCommand): string {
  const guides = GUIDES[name.split(' ')[0] ?? ''] ?? [];
  const links = guides.map((guide) => `[${guide}](${guide}.md)`).join(', ');
  const usage = ['npx pointsman', name, ...command.registeredArguments.map(written), '[flags]'];
  return `## ${name}

\`${usage.join(' ')}\`: ${cell(command.description())}.${links === '' ? '' : ` Guide: ${links}.`}

${flagTables(command).join('\n')}`;
}

/** A table for each group of the flags, with the heading that it has in `--help`. */
function flagTables(command: Command): readonly string[] {
  const shown = command.options.filter(({ hidden }) => !hidden);
  const groups = Map.groupBy(shown, ({ helpGroupHeading }) => helpGroupHeading ?? '');
  if (groups.size === 0) groups.set('', []);
  return [...groups].map(([heading, options], at) => {
    const rows = [
      ...(at === 0 ? command.registeredArguments.map(argumentRow) : []),
      ...options.map(optionRow),
    ];
    const title = heading === '' ? '' : `**${heading.replace(/:$/, '')}**\n\n`;
    return `${title}| flag | default | what |\n| ---- | ------- | ---- |\n${rows.join('\n')}\n`;
  });
}

function argumentRow(argument: Argument): string {
  return `| \`${cell(written(argument))}\` | | ${cell(argument.description)} |`;
}

function optionRow(option: Option): string {
  const choices =
    option.argChoices === undefined ? '' : `: ${option.argChoices.map(code).join(', ')}`;
  const what = `${option.description}${choices}`.replace(/^: /, '');
  return `| \`${cell(option.flags)}\` | ${cell(defaultOf(option))} | ${cell(what)} |`;
}

function written(argument: Argument): string {
  return argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
}

/** Empty if the flag has no default. */
function defaultOf({ defaultValue, defaultValueDescription }: Option): string {
  if (defaultValueDescription !== undefined) {
    return defaultValueDescription === 'none' ? '' : defaultValueDescription;
  }
  const value: unknown = defaultValue;
  if (value === undefined || value === false || value === true) return '';
  if (Array.isArray(value)) return value.map((each) => code(String(each))).join(', ');
  if (typeof value === 'string' || typeof value === 'number') return code(String(value));
  return '';
}

function code(text: string): string {
  return `\`${text}\``;
}

/** Bars separate the cells of a table; a page of docs/ becomes a link. */
function cell(text: string): string {
  return text
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ')
    .replaceAll(/docs\/([\w-]+)\.md/g, '[$1]($1.md)');
}
