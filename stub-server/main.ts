import { Command, InvalidArgumentError } from 'commander';
import { startStubPool } from './pool.ts';
import { type StubOptions, stubOptions } from './stub-options.ts';

interface StubFlags extends Partial<StubOptions> {
  readonly json: boolean;
}

/** `pointsman stub`. `untilSignal` resolves when the pool is to stop. */
export function stubCommand(untilSignal: () => Promise<unknown>): Command {
  return new Command('stub')
    .description(
      'run a pool of model servers that need no accelerator: vLLM’s HTTP and metrics, a simulated engine',
    )
    .option('--count <n>', 'model servers', number, 8)
    .option('--host <address>', 'listen on this address', '127.0.0.1')
    .option('--port <port>', 'first of the consecutive ports; 0 takes free ones', number, 8000)
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
    .action(async ({ json, ...flags }: StubFlags) => {
      const pool = await startStubPool(stubOptions.parse(flags));
      const addresses = pool.endpoints.map(({ address }) => address);
      process.stdout.write(
        json ? `${JSON.stringify({ endpoints: addresses })}\n` : `${addresses.join('\n')}\n`,
      );
      await untilSignal();
      await pool.stop();
      process.exit(0);
    });
}

function number(text: string): number {
  const value = Number(text);
  if (text === '' || !Number.isFinite(value)) throw new InvalidArgumentError('must be a number.');
  return value;
}
