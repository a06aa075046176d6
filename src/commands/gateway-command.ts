import { Command, InvalidArgumentError } from 'commander';
import { startGateway } from '../gateway/start-gateway.ts';
import { untilSignal } from '../runtime/process-end.ts';
import { port } from './option-values.ts';

interface GatewayFlags {
  readonly host: string;
  readonly port: number;
  readonly picker: string;
  readonly insecure: boolean;
  readonly json: boolean;
}

export function gatewayCommand(): Command {
  return new Command('gateway')
    .description('run the embedded gateway, an HTTP proxy for machines without Envoy')
    .option('--host <address>', 'listen on this address', '127.0.0.1')
    .option('--port <port>', 'listen on this port; 0 selects a free one', port, 8081)
    .option('--picker <host:port>', 'ext_proc address of `serve`', address, '127.0.0.1:9002')
    .option('--insecure', 'connect without TLS, to `pointsman serve --insecure`', false)
    .option('--json', 'print the port as one JSON document on stdout once listening', false)
    .action(async (flags: GatewayFlags) => {
      const gateway = await startGateway({
        host: flags.host,
        port: flags.port,
        extProcAddress: flags.picker,
        extProcTls: !flags.insecure,
        log: (line) => process.stderr.write(`${line}\n`),
      });
      if (flags.json) process.stdout.write(`${JSON.stringify({ port: gateway.port })}\n`);
      await untilSignal();
      await gateway.stop();
      process.exit(0);
    });
}

function address(text: string): string {
  if (!/^(\[[^\]]+\]|[^:]+):\d+$/.test(text)) throw new InvalidArgumentError('must be host:port.');
  return text;
}
