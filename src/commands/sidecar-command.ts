import { Command, InvalidArgumentError } from 'commander';
import { isHostPort } from '../endpoints/discovery/file/host-port.ts';
import { untilSignal } from '../runtime/process-end.ts';
import { startSidecar } from '../sidecar/start-sidecar.ts';
import { port } from './option-values.ts';

interface SidecarFlags {
  readonly host: string;
  readonly port: number;
  readonly engine: string;
  readonly prefillers?: readonly string[];
  readonly encoders?: readonly string[];
  readonly json: boolean;
}

export function sidecarCommand(): Command {
  return new Command('sidecar')
    .description('run the proxy of a decoding server, which has prompts prefilled elsewhere')
    .option('--host <address>', 'listen on this address', '0.0.0.0')
    .option('--port <port>', 'listen on this port; 0 selects a free one', port, 8000)
    .option('--engine <host:port>', 'the decoding server', server, '127.0.0.1:8200')
    .option('--prefillers <host:port,…>', 'prefilling servers to allow; any without it', servers)
    .option('--encoders <host:port,…>', 'encoders of media to allow; any without it', servers)
    .option('--json', 'print the address as one JSON document on stdout once listening', false)
    .action(async ({ json, ...flags }: SidecarFlags) => {
      const log = (line: string): void => void process.stderr.write(`${line}\n`);
      const sidecar = await startSidecar({ ...flags, log });
      if (json) process.stdout.write(`${JSON.stringify({ address: sidecar.address })}\n`);
      else log(`sidecar of ${flags.engine} listens on ${sidecar.address}`);
      await untilSignal();
      await sidecar.stop();
      process.exit(0);
    });
}

function servers(text: string): readonly string[] {
  return text.split(',').map((each) => server(each.trim()));
}

function server(text: string): string {
  if (!isHostPort(text)) throw new InvalidArgumentError('must be host:port.');
  return text;
}
