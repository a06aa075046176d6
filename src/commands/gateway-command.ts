import { Command, InvalidArgumentError } from 'commander';
import { GATEWAY_BOUNDS, type GatewayBounds } from '../gateway/gateway-bounds.ts';
import { startGateway } from '../gateway/start-gateway.ts';
import { nodeClock } from '../runtime/clock/node-clock.ts';
import { watchOpenFiles } from '../runtime/process/open-files.ts';
import { untilSignal } from '../runtime/process/process-end.ts';
import {
  addTimeLimits,
  atLeastOne,
  listenHost,
  port,
  type TimeLimitFlag,
  wholeNumber,
} from './options/option-values.ts';

type TimeLimits = Omit<GatewayBounds, 'requestsMax' | 'retryBodyBytes'>;

interface GatewayFlags extends TimeLimits {
  readonly host: string;
  readonly port: number;
  readonly picker: string;
  readonly insecure: boolean;
  readonly maxRequests: number;
  readonly retryBodyBytes: number;
  readonly drainNoticeMs: number;
  readonly drainTimeoutMs: number;
  readonly json: boolean;
}

const TIME_LIMITS: Readonly<Record<keyof TimeLimits, TimeLimitFlag>> = {
  uploadTimeoutMs: ['upload-timeout-ms', 'longest upload of a body'],
  clientIdleTimeoutMs: ['client-idle-timeout-ms', 'longest standstill of a client'],
  pickerTimeoutMs: ['picker-timeout-ms', 'longest wait for the picker, then 503'],
  connectTimeoutMs: ['connect-timeout-ms', 'longest wait for a connection'],
  firstByteTimeoutMs: ['first-byte-timeout-ms', 'longest wait for the endpoint’s headers'],
  idleTimeoutMs: ['idle-timeout-ms', 'longest pause within the endpoint’s answer'],
};

const DRAIN_NOTICE_MS = 1_000;
const DRAIN_TIMEOUT_MS = 10_000;

export function gatewayCommand(): Command {
  const command = new Command('gateway')
    .description('run the embedded gateway, an HTTP proxy for machines without Envoy')
    .option('--host <address>', 'listen on this address', listenHost, '127.0.0.1')
    .option('--port <port>', 'listen on this port; 0 selects a free one', port, 8081)
    .option(
      '--picker <host:port>',
      'the picker’s --extproc-port, as Envoy asks it',
      address,
      '127.0.0.1:9002',
    )
    .option('--insecure', 'connect without TLS, to `pointsman serve --insecure`', false)
    .option(
      '--max-requests <n>',
      'refuse more open requests with 503',
      atLeastOne,
      GATEWAY_BOUNDS.requestsMax,
    )
    .option(
      '--retry-body-bytes <n>',
      'keep bodies up to this long for the next endpoint, should one fail; 0 keeps none',
      wholeNumber,
      GATEWAY_BOUNDS.retryBodyBytes,
    );
  return addTimes(command)
    .option('--json', 'print the port as one JSON document on stdout once listening', false)
    .action(run);
}

async function run(flags: GatewayFlags): Promise<void> {
  const clock = nodeClock();
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const gateway = await startGateway({
    host: flags.host,
    port: flags.port,
    extProcAddress: flags.picker,
    extProcTls: !flags.insecure,
    bounds: { ...flags, requestsMax: flags.maxRequests },
    clock,
    log,
  });
  watchOpenFiles({ clock, log, onNone: () => gateway.makeRoom() });
  const ended = untilSignal();
  if (flags.json) process.stdout.write(`${JSON.stringify({ port: gateway.port })}\n`);
  const signal = await ended;
  // A person who presses Ctrl-C waits for the end, and has clients that need no notice.
  await gateway.drain(signal === 'SIGINT' ? { ...flags, drainNoticeMs: 0 } : flags);
  process.exit(0);
}

function addTimes(command: Command): Command {
  addTimeLimits(command, TIME_LIMITS, GATEWAY_BOUNDS);
  return command
    .option(
      '--drain-notice-ms <ms>',
      'after SIGTERM, serve on for so long and have clients close their connections',
      wholeNumber,
      DRAIN_NOTICE_MS,
    )
    .option(
      '--drain-timeout-ms <ms>',
      'then let open requests go on for at most so long',
      wholeNumber,
      DRAIN_TIMEOUT_MS,
    );
}

function address(text: string): string {
  if (!/^(\[[^\]]+\]|[^:]+):\d+$/.test(text))
    throw new InvalidArgumentError('must be host:port, such as 127.0.0.1:9002.');
  return text;
}
