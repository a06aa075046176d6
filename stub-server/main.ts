import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError, type Option } from 'commander';
import { readYaml } from '../src/files/reading/read-yaml.ts';
import { ConfigError } from '../src/framework/error.ts';
import { createLog } from '../src/runtime/log/log.ts';
import { readCommandLine } from './engine-args/read-command-line.ts';
import { checkOptions } from './options/check-options.ts';
import { type StubOptions, stubOptions } from './options/stub-options.ts';
import { readPoolFile } from './options/stub-pool-file.ts';
import { startMixedPool } from './pool.ts';

/** Flags of this command that vLLM has, too. */
const SHARED: ReadonlySet<string> = new Set([
  'model',
  'host',
  'port',
  'seed',
  'engine',
  'data-parallel-size',
]);

/** Flags that say where the servers of a file listen; they count more than the file. */
const PLACES: ReadonlySet<string> = new Set(['host', 'port', 'spread']);
const OF_A_POOL: ReadonlySet<string> = new Set([...PLACES, 'pool', 'control', 'json']);

interface ServerFlags extends Readonly<Record<string, unknown>> {
  readonly calibrated?: string;
  readonly config?: string;
  readonly asSimulator: boolean;
}

interface StubFlags extends ServerFlags {
  readonly json: boolean;
  readonly pool?: string;
  readonly control?: number;
}

/** Creates `pointsman stub`. The pool stops when `untilSignal` resolves. */
export function stubCommand(untilSignal: () => Promise<unknown>): Command {
  const command = new Command('stub')
    .description(
      'run a pool of model servers without accelerators: the HTTP API and metrics of vLLM, a simulated engine',
    )
    .allowUnknownOption()
    .allowExcessArguments()
    .option('--pool <file>', 'a YAML file with servers that differ; see docs/stub.md')
    .option(
      '--config <file>',
      'a YAML file with settings as vLLM and llm-d-inference-sim name them',
    )
    .option(
      '--as-simulator',
      'defaults of llm-d-inference-sim: one server, fixed times, all 0',
      false,
    )
    .option('--control <port>', 'serve the state and faults of the pool on this port', number)
    .option('--count <n>', 'number of model servers', number, 8)
    .option('--host <address>', 'listen on this address', '127.0.0.1')
    .option('--port <port>', 'first of the consecutive ports; 0 takes free ones', number, 8000)
    .option('--spread <how>', 'give servers consecutive `ports`, or consecutive `addresses`')
    .option('--json', 'print the addresses as one JSON document on stdout', false);
  return withServerOptions(command).action((flags: StubFlags) => run(flags, command, untilSignal));
}

async function run(
  { json, pool: file, control, ...flags }: StubFlags,
  command: Command,
  untilSignal: () => Promise<unknown>,
): Promise<void> {
  const servers =
    file === undefined ? equalServers(flags, command) : readPool(file, flags, command);
  const pool = await startMixedPool(servers, { controlPort: control });
  const addresses = pool.endpoints.map(({ address }) => address);
  process.stdout.write(
    json
      ? `${JSON.stringify({ endpoints: addresses, control: pool.control })}\n`
      : `${addresses.join('\n')}\n`,
  );
  if (!json && process.stderr.isTTY) process.stderr.write(nextStep(addresses));
  await untilSignal();
  await pool.stop();
  process.exit(0);
}

/** The terminal shows nothing more until the command is stopped. */
function nextStep(addresses: readonly string[]): string {
  const flags = `--insecure --endpoints ${addresses.join(',')}`;
  return `These model servers run until Ctrl-C. A picker for them: pointsman serve ${flags}\n`;
}

function withServerOptions(command: Command): Command {
  return command
    .option('--preset <name>', 'a model on an accelerator; sets step time and memory')
    .option('--calibrated <file>', 'step time from a file of pointsman calibrate --out')
    .option('--data-parallel-size <n>', 'ranks of each server, on consecutive ports', number)
    .option('--engines <n>', 'ranks of each server, behind one port, with its balancer', number)
    .option('--model <name>', 'name of the served model', 'stub-model')
    .option('--engine <name>', 'metrics to show: vllm, vllm-2025, sglang or trtllm', 'vllm')
    .option('--loras <names>', 'names of the served adapters, comma-separated', (text) =>
      text.split(','),
    )
    .option('--kv-blocks <n>', 'KV-cache blocks of each server', number)
    .option('--block-tokens <n>', 'tokens in a block', number)
    .option('--sequences-max <n>', 'maximum number of sequences in a batch', number)
    .option('--batched-tokens-max <n>', 'maximum number of tokens in a step', number)
    .option('--speed <ratio>', 'model time per real time, 0.1 to 10', number)
    .option('--seed <n>', 'seed of all random numbers', number)
    .option('--base-ms <ms>', 'step time: constant part', number)
    .option('--per-prefill-token-ms <ms>', 'step time: for each prompt token', number)
    .option('--per-decode-sequence-ms <ms>', 'step time: for each decoding sequence', number)
    .option('--per-context-token-ms <ms>', 'step time: for each token of context', number)
    .option('--startup-ms <ms>', 'time of the start; /health answers 503 meanwhile', number)
    .option('--kv-events-port <port>', 'publish KV events over ZMQ, first port', number)
    .option('--kv-events-replay-port <port>', 'replay missed KV events, first port', number)
    .option('--kv-events-format <name>', 'array (2025), map or map-batch (newer)');
}

/**
 * The servers of the file, at the addresses of the command line where it names some. Throws
 * ConfigError, also for other settings beside the file: they belong to no server.
 */
function readPool(file: string, flags: ServerFlags, command: Command): readonly StubOptions[] {
  const given = flagsGiven(command);
  const others = given.filter((option) => !OF_A_POOL.has(option.name()));
  const [first] = [...command.args, ...others.map((option) => option.long ?? option.name())];
  if (first !== undefined) {
    const message = 'cannot be used with --pool: put the options of servers into the file';
    throw new ConfigError('command line', [{ path: first, message }]);
  }
  const names = given.map((option) => option.name()).filter((name) => PLACES.has(name));
  const places = Object.fromEntries(names.map((name) => [name, flags[name]]));
  return readPoolFile(readFileSync(file, 'utf8'), file, places);
}

/** The options that stand on the command line. */
function flagsGiven(command: Command): readonly Option[] {
  return command.options.filter(
    (option) => command.getOptionValueSource(option.attributeName()) === 'cli',
  );
}

/** Servers with the flags of this command and, beside them, of vLLM and llm-d-inference-sim. */
function equalServers(
  { calibrated, config, asSimulator, ...flags }: ServerFlags,
  command: Command,
): readonly StubOptions[] {
  const given = flagsGiven(command).filter((option) => option.attributeName() in flags);
  const shared = given.filter((option) => SHARED.has(option.name()));
  const { options: settings, idle } = readCommandLine({
    args: command.args,
    own: Object.fromEntries(shared.map((each) => [each.name(), flags[each.attributeName()]])),
    ownNames: command.options.map((option) => option.name()),
    environment: process.env,
    file: config === undefined ? undefined : { name: config, text: readFileSync(config, 'utf8') },
    asSimulator,
  });
  if (idle.length > 0) createLog('warn').warn({ idle }, 'settings that change nothing here');
  const all = {
    ...coefficientsIn(calibrated),
    ...flags,
    ...settings,
    ...Object.fromEntries(given.map((each) => [each.attributeName(), flags[each.attributeName()]])),
    // The name that is served, which is not always the one of --model.
    ...(settings['model'] !== undefined && { model: settings['model'] }),
  };
  const options = checkOptions(stubOptions, all, {
    source: 'command line',
    fallback: 'servers',
    flags: new Map(given.map((each) => [each.attributeName(), each.long ?? each.name()])),
  });
  return Array.from({ length: options.count }, () => options);
}

function coefficientsIn(file: string | undefined): object {
  if (file === undefined) return {};
  const read: unknown = readYaml(readFileSync(file, 'utf8'), file);
  if (typeof read === 'object' && read !== null) return read;
  throw new ConfigError(file, [{ path: 'file', message: 'has no coefficients' }]);
}

function number(text: string): number {
  const value = Number(text);
  if (text === '' || !Number.isFinite(value))
    throw new InvalidArgumentError(`${text} is not a number.`);
  return value;
}
