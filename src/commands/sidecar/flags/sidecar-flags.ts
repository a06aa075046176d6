import { type Command, InvalidArgumentError, Option } from 'commander';
import { isHostPort } from '../../../endpoints/discovery/file/host-port.ts';
import {
  HEALTH_ANSWERERS,
  type HealthAnswerer,
  SIDECAR_DEFAULTS,
} from '../../../sidecar/options/sidecar-options.ts';
import { atLeastOne, listenHost, port } from '../../options/option-values.ts';
import { addBoundOptions, type BoundFlags } from './bound-flags.ts';
import { addConnectorOptions, type ConnectorFlags } from './connector-flags.ts';
import { addMoriIoOptions, type MoriIoFlags } from './mori-io-flags.ts';
import { addPrefillOptions, type PrefillFlags } from './prefill-flags.ts';
import { addServerOptions, type ServerFlags } from './server-flags.ts';
import { addTlsOptions, type TlsFlags } from './tls-flags.ts';

export interface SidecarFlags
  extends ServerFlags,
    ConnectorFlags,
    PrefillFlags,
    MoriIoFlags,
    BoundFlags,
    TlsFlags {
  readonly host: string;
  readonly port: number;
  readonly engine: string;
  readonly dataParallelSize: number;
  readonly health: HealthAnswerer;
  readonly metricsPort?: number;
  readonly metricsCertDir?: string;
  readonly tracing: boolean;
  readonly json: boolean;
}

/** The options of `pointsman sidecar`. */
export function addSidecarOptions(command: Command): Command {
  command
    .option('--host <address>', 'listen on this address', listenHost, '0.0.0.0')
    .option('--port <port>', 'listen on this port; 0 selects a free one', port, 8000)
    .option('--engine <host:port>', 'the decoding server', server, '127.0.0.1:8200')
    .option(
      '--data-parallel-size <n>',
      'ranks of the decoding server: one port for each, before as many ports of the engine',
      atLeastOne,
      SIDECAR_DEFAULTS.dataParallelSize,
    )
    .addOption(
      new Option('--health <who>', 'who answers GET /health: the engine, or the sidecar itself')
        .choices(HEALTH_ANSWERERS)
        .default(SIDECAR_DEFAULTS.health),
    );
  addServerOptions(command);
  addConnectorOptions(command);
  addPrefillOptions(command);
  addMoriIoOptions(command);
  addBoundOptions(command);
  return addTlsOptions(command)
    .option('--metrics-port <port>', 'serve /metrics, /healthz and /readyz here', port)
    .option(
      '--metrics-cert-dir <folder>',
      'serve the metrics port by TLS with tls.crt and tls.key of this folder, read again when they change',
    )
    .option(
      '--tracing',
      'send OpenTelemetry traces of requests and their legs, as of serve; see docs/telemetry.md',
      false,
    )
    .option('--json', 'print the address as one JSON document on stdout once listening', false);
}

function server(text: string): string {
  if (!isHostPort(text)) throw new InvalidArgumentError('must be host:port.');
  return text;
}
