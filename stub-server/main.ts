import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { readYaml } from '../src/files/read-yaml.ts';
import { ConfigError } from '../src/framework/error.ts';
import { readPoolFile } from './options/pool-file.ts';
import { type StubOptions, stubOptions } from './options/stub-options.ts';
import { startMixedPool } from './pool.ts';

interface StubFlags extends Readonly<Record<string, unknown>> {
  readonly json: boolean;
  readonly pool?: string;
  readonly control?: number;
  readonly calibrated?: string;
}

/** `pointsman stub`. `untilSignal` resolves when the pool is to stop. */
export function stubCommand(untilSignal: () => Promise<unknown>): Command {
  return new Command('stub')
    .description(
      'run a pool of model servers that need no accelerator: vLLM’s HTTP and metrics, a simulated engine',
    )
    .option('--pool <file>', 'servers that are not all alike, in YAML; see docs/stub.md')
    .option('--control <port>', 'serve the pool’s state and faults there', number)
    .option('--preset <name>', 'a model and accelerator whose step time and memory to take')
    .option('--calibrated <file>', 'its step time instead, as pointsman calibrate --out wrote it')
    .option('--count <n>', 'model servers', number, 8)
    .option('--host <address>', 'listen on this address', '127.0.0.1')
    .option('--port <port>', 'first of the consecutive ports; 0 takes free ones', number, 8000)
    .option(
      '--spread <how>',
      'servers on one address’s `ports`, or on `addresses` one after another',
    )
    .option('--data-parallel-size <n>', 'ranks of each, on consecutive ports', number)
    .option('--model <name>', 'the model they serve', 'stub-model')
    .option('--engine <name>', 'whose metrics they show: vllm, vllm-2025, sglang or trtllm', 'vllm')
    .option('--loras <names>', 'adapters they serve, comma-separated', (text) => text.split(','))
    .option('--kv-blocks <n>', 'KV-cache blocks of each', number)
    .option('--block-tokens <n>', 'tokens in a block', number)
    .option('--sequences-max <n>', 'sequences in a batch', number)
    .option('--batched-tokens-max <n>', 'tokens in a step', number)
    .option('--speed <ratio>', 'times faster than life, 0.1 to 10', number)
    .option('--seed <n>', 'of all chance', number)
    .option('--base-ms <ms>', 'step time: of an empty step', number)
    .option('--per-prefill-token-ms <ms>', 'step time: for each prompt token', number)
    .option('--per-decode-sequence-ms <ms>', 'step time: for each decoding sequence', number)
    .option('--per-context-token-ms <ms>', 'step time: for each token of context', number)
    .option('--startup-ms <ms>', 'until it is ready; /health says 503 so long', number)
    .option('--kv-events-port <port>', 'publish KV events over ZMQ from this port on', number)
    .option('--kv-events-replay-port <port>', 'answer for missed ones from this port on', number)
    .option('--kv-events-format <name>', 'array (2025), map or map-batch (newer)')
    .option('--json', 'print the addresses as one JSON document on stdout', false)
    .action(async ({ json, pool: file, control, calibrated, ...flags }: StubFlags) => {
      const each =
        file === undefined
          ? alike({ ...coefficientsIn(calibrated), ...flags })
          : readPoolFile(readFileSync(file, 'utf8'), file);
      const pool = await startMixedPool(each, { controlPort: control });
      const addresses = pool.endpoints.map(({ address }) => address);
      process.stdout.write(
        json
          ? `${JSON.stringify({ endpoints: addresses, control: pool.control })}\n`
          : `${addresses.join('\n')}\n`,
      );
      await untilSignal();
      await pool.stop();
      process.exit(0);
    });
}

function alike(flags: object): readonly StubOptions[] {
  const parsed = stubOptions.safeParse(flags);
  if (parsed.success) return Array.from({ length: parsed.data.count }, () => parsed.data);
  const issues = parsed.error.issues.map(({ path, message }) => ({
    path: path.join('.') || 'stub',
    message,
  }));
  throw new ConfigError('stub', issues);
}

function coefficientsIn(file: string | undefined): object {
  if (file === undefined) return {};
  const read: unknown = readYaml(readFileSync(file, 'utf8'), file);
  if (typeof read === 'object' && read !== null) return read;
  throw new ConfigError(file, [{ path: 'file', message: 'holds no coefficients' }]);
}

function number(text: string): number {
  const value = Number(text);
  if (text === '' || !Number.isFinite(value)) throw new InvalidArgumentError('must be a number.');
  return value;
}
