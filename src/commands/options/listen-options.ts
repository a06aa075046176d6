import { type Command, InvalidArgumentError } from 'commander';
import { commandLineError } from '../../framework/error.ts';
import type { ListenOptions } from '../../serve/options/serve-options.ts';
import { listenHost, port, wholeNumber } from './option-values.ts';

/** By far more than one deciding thread can serve. */
const IO_WORKERS_MAX = 64;

export interface ListenFlags
  extends Pick<ListenOptions, 'host' | 'healthPort' | 'metricsPort' | 'ioWorkers'> {
  readonly extprocPort: number;
}

/** Where `serve` listens, and in how many threads. */
export function addListenOptions(command: Command): Command {
  return command
    .option('--host <address>', 'address to listen on', listenHost, '0.0.0.0')
    .option('--extproc-port <port>', 'port of the ext_proc and health services (gRPC)', port, 9002)
    .option('--health-port <port>', 'port of a health service without TLS (gRPC)', port)
    .option(
      '--metrics-port <port>',
      'port of /metrics, /healthz and /readyz, and on this machine of /debug and actions (HTTP)',
      port,
      9090,
    )
    .option(
      '--io-workers <n>',
      'threads that serve gateways and read bodies beside the one that decides, for machines with ' +
        'many cores; 0: one thread does all; see docs/sizing.md',
      ioWorkers,
      0,
    );
}

/** Ports by their flags; without those that are not given. */
type PortsByFlag = Readonly<Record<string, number | undefined>>;

/** Throws ConfigError where two flags name one port: the system would blame another process. */
export function refuseSharedPorts(ports: PortsByFlag): void {
  const given = Object.entries(ports).filter(([, number = 0]) => number !== 0);
  for (const [at, [flag, number]] of given.entries()) {
    const other = given.slice(0, at).find(([, before]) => before === number);
    if (other === undefined) continue;
    const message = `${number} is the port of ${other[0]}, too: give one of them another port`;
    throw commandLineError(flag, message);
  }
}

function ioWorkers(text: string): number {
  const value = wholeNumber(text);
  if (value <= IO_WORKERS_MAX) return value;
  throw new InvalidArgumentError(
    `must be at most ${IO_WORKERS_MAX}: one thread decides for all of them.`,
  );
}
