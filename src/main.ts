#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { reportOf } from './commands/admin-client/command-errors.ts';
import { withoutEmptyWords } from './commands/go-flags/empty-words.ts';
import { listedCommands } from './commands/output/command-list.ts';
import { printable } from './commands/output/printable.ts';
import { describeUsage } from './commands/output/usage-help.ts';
import { packageVersion } from './files/folders.ts';
import { shareLookups } from './runtime/network/shared-lookups.ts';
import { slowCollections } from './runtime/process/collection-pace.ts';
import { freeCompilerMemoryAtOnce } from './runtime/process/compiler-memory.ts';
import { keepServing } from './runtime/process/keep-serving.ts';
import { endWithParent, untilSignal } from './runtime/process/process-end.ts';
import { limitYoungGeneration } from './runtime/process/young-generation.ts';

/**
 * Each command is loaded when it is used: a pool of stubs does not need the picker, nor a picker
 * the simulator.
 */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./commands/serve-command.ts')).serveCommand(),
  gateway: async () => (await import('./commands/gateway-command.ts')).gatewayCommand(),
  sidecar: async () => (await import('./commands/sidecar-command.ts')).sidecarCommand(),
  stub: async () => (await import('../stub-server/main.ts')).stubCommand(untilSignal),
  top: async () => (await import('./commands/top-command.ts')).topCommand(),
  explain: async () => (await import('./commands/explain-command.ts')).explainCommand(),
  shadow: async () => (await import('./commands/shadow-command.ts')).shadowCommand(),
  doctor: async () => (await import('./commands/doctor-command.ts')).doctorCommand(),
  demo: async () => (await import('./commands/demo-command.ts')).demoCommand(checkPolicy),
  check: async () => (await import('./commands/check-command.ts')).checkCommand(),
  simulate: async () => (await import('./commands/simulate-command.ts')).simulateCommand(),
  redecide: async () => (await import('./commands/redecide-command.ts')).redecideCommand(),
  replay: async () => (await import('./commands/replay-command.ts')).replayCommand(),
  trace: async () => (await import('./commands/trace-command.ts')).traceCommand(),
  scheduler: async () => (await import('./commands/scheduler-command.ts')).schedulerCommand(),
  calibrate: async () =>
    (await import('../stub-server/calibration/calibrate-command.ts')).calibrateCommand(),
  completion: async () =>
    (await import('./commands/completion-command.ts')).completionCommand(() => program(all())),
};

const all = (): readonly Promise<Command>[] => Object.values(COMMANDS).map((load) => load());

/** Commands that serve until a signal ends them, and through which bodies pass. */
const SERVES: ReadonlySet<string> = new Set(['serve', 'gateway', 'sidecar']);

/** Loaded only when the demo runs: its `--help` does not need the picker. */
async function checkPolicy(policy: string): Promise<void> {
  const { planFrom } = await import('./catalogue/plan.ts');
  planFrom(policy);
}

/** Only the command that is asked for; without one the list, which needs none of them. */
function commandsFor(asked: string): readonly (Command | Promise<Command>)[] {
  const load = Object.hasOwn(COMMANDS, asked) ? COMMANDS[asked] : undefined;
  return load === undefined ? listedCommands() : [load()];
}

async function program(commands: readonly (Command | Promise<Command>)[]): Promise<Command> {
  const root = new Command('pointsman')
    .commandsGroup('More:')
    .helpCommand('help [command]', 'print the help of a command')
    .description('An endpoint picker for LLM inference, behind Envoy')
    .version(packageVersion(), '-V, --version', 'print the version');
  for (const command of commands) root.addCommand(await command);
  describeUsage(root);
  throwErrors(root);
  return root;
}

/** Commander would end the process by itself, with 1 for wrong usage. */
function throwErrors(command: Command): void {
  command.exitOverride();
  for (const each of command.commands) throwErrors(each);
}

/**
 * The arguments as ours: a command line of the reference picker or of its sidecar is translated,
 * and what has no effect is logged; one of llm-d-inference-sim goes to the stub.
 */
async function argumentsOf(all: readonly string[]): Promise<readonly string[]> {
  // Charts leave empty words where something is switched off, and the reference passes over them.
  const begin = all.findIndex((word) => word !== '');
  const given = begin < 0 ? [] : all.slice(begin);
  const [first, ...rest] = given;
  // A name that no command has is left alone, so that the error says which ones are like it.
  const isNoCommand = rest.length > 0 && !Object.hasOwn(COMMANDS, rest[0] ?? '');
  if (first === 'help') return isNoCommand ? rest : [...rest, '--help'];
  if (first?.startsWith('-') !== true && first !== 'sidecar') return given;
  const { isSimulatorLine } = await import('../stub-server/engine-args/is-simulator-line.ts');
  if (isSimulatorLine(given, process.env)) return ['stub', '--as-simulator', ...given];
  const { fromSidecarArgs } = await import('./commands/sidecar/sidecar-args.ts');
  const { fromReferenceArgs } = await import('./commands/go-flags/reference-args.ts');
  const translated = fromSidecarArgs(given, process.env) ?? fromReferenceArgs(given, process.env);
  if (translated === undefined) return given;
  const { args, fixed } = translated;
  if (Object.keys(fixed).length > 0) {
    const { createLog } = await import('./runtime/log/log.ts');
    createLog('warn').warn(
      { fixed },
      'flags and variables of the reference that change nothing here, and what holds instead',
    );
  }
  return args;
}

endWithParent();
// A reader such as `head` that has enough closes its end of the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});
try {
  const args = await argumentsOf(process.argv.slice(2));
  if (SERVES.has(args[0] ?? '')) {
    keepServing();
    shareLookups();
    freeCompilerMemoryAtOnce();
    const nodeFlags = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''];
    limitYoungGeneration(nodeFlags);
    slowCollections(nodeFlags);
  }
  const root = await program(commandsFor(args[0] ?? ''));
  const served = root.commands.find((each) => each.name() === args[0] && SERVES.has(args[0]));
  const words = served === undefined ? args : withoutEmptyWords(args, served);
  await root.parseAsync(words, { from: 'user' });
} catch (error) {
  // Commander has printed its message already, or the help that was asked for.
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
  // Where the user can mend the fault, the sentence is enough, and a stack trace would hide it.
  const report = reportOf(error);
  if (report === undefined) throw error;
  process.stderr.write(`${printable(report.sentence)}\n`);
  // What was started before the fault, such as a port that is open, would keep the process alive.
  process.exit(report.exitCode);
}
