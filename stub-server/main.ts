import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { readYaml } from '../src/files/read-yaml.ts';
import { ConfigError } from '../src/framework/error.ts';
import { parseOptions, type StubOptions, stubOptions } from './options/stub-options.ts';
import { readPoolFile } from './options/stub-pool-file.ts';
import { startMixedPool } from './pool.ts';

interface StubFlags extends Readonly<Record<string, unknown>> {
  readonly json: boolean;
  readonly pool?: string;
  readonly control?: number;
  readonly calibrated?: string;
}

/** Creates `pointsman stub`. The pool stops when `untilSignal` resolves. */
export function stubCommand(untilSignal: () => Promise<unknown>): Command {
  const command = new Command('stub')
    .description(
      'run a pool of model servers without accelerators: the HTTP API and metrics of vLLM, a simulated engine',
    )
    .option('--pool <file>', 'a YAML file with servers that differ; see docs/stub.md')
    .option('--control <port>', 'serve the state and faults of the pool on this port', number)
    .option('--count <n>', 'number of model servers', number, 8)
    .option('--host <address>', 'listen on this address', '127.0.0.1')
    .option('--port <port>', 'first of the consecutive ports; 0 takes free ones', number, 8000)
    .option('--spread <how>', 'give servers consecutive `ports`, or consecutive `addresses`')
    .option('--json', 'print the addresses as one JSON document on stdout', false);
  return withServerOptions(command).action(
    async ({ json, pool: file, control, calibrated, ...flags }: StubFlags) => {
      const servers =
        file === undefined
          ? equalServers({ ...coefficientsIn(calibrated), ...flags })
          : readPoolFile(readFileSync(file, 'utf8'), file);
      const pool = await startMixedPool(servers, { controlPort: control });
      const addresses = pool.endpoints.map(({ address }) => address);
      process.stdout.write(
        json
          ? `${JSON.stringify({ endpoints: addresses, control: pool.control })}\n`
          : `${addresses.join('\n')}\n`,
      );
      await untilSignal();
      await pool.stop();
      process.exit(0);
    },
  );
}

function withServerOptions(command: Command): Command {
  return command
    .option('--preset <name>', 'a model on an accelerator; sets step time and memory')
    .option('--calibrated <file>', 'step time from a file of pointsman calibrate --out')
    .option('--data-parallel-size <n>', 'ranks of each server, on consecutive ports', number)
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

function equalServers(flags: object): readonly StubOptions[] {
  const options = parseOptions(stubOptions, flags, { source: 'stub', fallback: 'stub' });
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
  if (text === '' || !Number.isFinite(value)) throw new InvalidArgumentError('must be a number.');
  return value;
}
