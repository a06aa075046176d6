import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { Command, InvalidArgumentError } from 'commander';
import { isHostPort } from '../endpoints/discovery/file/host-port.ts';
import { ConfigError, messageOf } from '../framework/error.ts';
import { nodeClock } from '../runtime/node-clock.ts';
import { untilSignal } from '../runtime/process-end.ts';
import { type Readiness, startAdminServer } from '../serve/admin/admin-server.ts';
import { type AllowedServers, listedServers, privateServers } from '../sidecar/allowed-servers.ts';
import {
  SIDECAR_BOUNDS,
  type SidecarBounds,
  type UpstreamRole,
} from '../sidecar/sidecar-options.ts';
import { type Sidecar, startSidecar } from '../sidecar/start-sidecar.ts';
import { addTimeLimit, atLeastOne, port, wholeNumber } from './option-values.ts';

interface SidecarFlags {
  readonly host: string;
  readonly port: number;
  readonly engine: string;
  readonly prefillers?: AllowedServers;
  readonly encoders?: AllowedServers;
  readonly maxBodyBytes: number;
  readonly maxBufferedBytes: number;
  readonly maxRequests: number;
  readonly uploadTimeoutMs: number;
  readonly clientIdleTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly prefillTimeoutMs: number;
  readonly encodeTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly drainNoticeMs: number;
  readonly drainTimeoutMs: number;
  readonly enableTls: readonly UpstreamRole[];
  readonly tlsInsecureSkipVerify: readonly UpstreamRole[];
  readonly tlsCa?: string;
  readonly metricsPort?: number;
  readonly json: boolean;
}

export function sidecarCommand(): Command {
  const command = new Command('sidecar')
    .description('run the proxy of a decoding server, which has prompts prefilled elsewhere')
    .option('--host <address>', 'listen on this address', '0.0.0.0')
    .option('--port <port>', 'listen on this port; 0 selects a free one', port, 8000)
    .option('--engine <host:port>', 'the decoding server', server, '127.0.0.1:8200')
    .option(
      '--prefillers <server,…>',
      'prefilling servers that requests may name: host:port, or addresses such as 10.0.0.0/16; any private address without it',
      servers,
    )
    .option('--encoders <server,…>', 'the same for encoders of media', servers);
  addBounds(command);
  return addTls(command)
    .option('--metrics-port <port>', 'serve /metrics, /healthz and /readyz here', port)
    .option('--json', 'print the address as one JSON document on stdout once listening', false)
    .action(run);
}

function addBounds(command: Command): Command {
  const { bodyBytesMax, bufferedBytesMax, requestsMax, ...times } = SIDECAR_BOUNDS;
  const ms = addTimeLimit.bind(undefined, command);
  command
    .option('--max-body-bytes <n>', 'refuse longer bodies with 413', atLeastOne, bodyBytesMax)
    .option(
      '--max-buffered-bytes <n>',
      'bodies of all requests that are not yet answered; refuse more with 503',
      atLeastOne,
      bufferedBytesMax,
    )
    .option('--max-requests <n>', 'refuse more open requests with 503', atLeastOne, requestsMax);
  ms('upload-timeout-ms', 'longest upload of a body', times.uploadTimeoutMs);
  ms('client-idle-timeout-ms', 'longest standstill of a client', times.clientIdleTimeoutMs);
  ms('connect-timeout-ms', 'longest wait for a connection', times.connectTimeoutMs);
  ms(
    'prefill-timeout-ms',
    'longest prefill elsewhere, then it is done here',
    times.prefillTimeoutMs,
  );
  ms('encode-timeout-ms', 'the same for encoding', times.encodeTimeoutMs);
  ms('first-byte-timeout-ms', 'longest wait for the engine’s headers', times.firstByteTimeoutMs);
  ms('idle-timeout-ms', 'longest pause within the engine’s answer', times.idleTimeoutMs);
  return command
    .option(
      '--drain-notice-ms <ms>',
      'after SIGTERM, fail health checks for so long before closing the port',
      wholeNumber,
      5_000,
    )
    .option(
      '--drain-timeout-ms <ms>',
      'then let open requests go on for at most so long',
      wholeNumber,
      60_000,
    );
}

function addTls(command: Command): Command {
  return command
    .option('--enable-tls <role,…>', 'use TLS to prefiller, decoder, encoder', roles, [])
    .option('--tls-insecure-skip-verify <role,…>', 'do not verify certificates of these', roles, [])
    .option('--tls-ca <file>', 'PEM file of the CAs to trust instead of the well-known ones');
}

async function run(flags: SidecarFlags): Promise<void> {
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const { host, engine, prefillers = privateServers(), encoders = privateServers() } = flags;
  const sidecar = await startSidecar({
    host,
    port: flags.port,
    engine,
    prefillers,
    encoders,
    bounds: boundsOf(flags),
    tls: {
      roles: flags.enableTls,
      unverified: flags.tlsInsecureSkipVerify,
      ca: flags.tlsCa === undefined ? undefined : readCa(flags.tlsCa),
    },
    clock: nodeClock(),
    log,
  });
  const metricsPort = await startMetrics(flags, sidecar);
  const { address } = sidecar;
  if (flags.json) process.stdout.write(`${JSON.stringify({ address, metricsPort })}\n`);
  else log(`sidecar of ${engine} listens on ${address}`);
  const signal = await untilSignal();
  log(`${signal}: draining, a second one ends at once`);
  // Ctrl-C is a person who waits; nothing else needs to notice.
  await sidecar.drain(signal === 'SIGINT' ? { ...flags, drainNoticeMs: 0 } : flags);
  process.exit(0);
}

function boundsOf({
  maxBodyBytes,
  maxBufferedBytes,
  maxRequests,
  ...times
}: SidecarFlags): SidecarBounds {
  const sizes = { bodyBytesMax: maxBodyBytes, bufferedBytesMax: maxBufferedBytes };
  return { ...times, ...sizes, requestsMax: maxRequests };
}

/** Throws ConfigError for a file that holds no certificates. */
function readCa(path: string): string {
  const ca = readFileSync(path, 'utf8');
  try {
    createSecureContext({ ca });
    if (ca.includes('-----BEGIN CERTIFICATE-----')) return ca;
  } catch {
    // Damaged: the message is the same.
  }
  const message = 'holds no PEM certificates: give the file of a CA';
  throw new ConfigError('command line', [{ path: `--tls-ca ${path}`, message }]);
}

/** The port of the metrics page, if there is to be one. */
async function startMetrics(
  { host, metricsPort }: SidecarFlags,
  sidecar: Sidecar,
): Promise<number | undefined> {
  if (metricsPort === undefined) return undefined;
  const admin = await startAdminServer({
    host,
    port: metricsPort,
    metricsPage: () => sidecar.registry.metrics(),
    ready: () => readinessOf(sidecar),
    documents: new Map(),
  });
  return admin.port;
}

function readinessOf({ draining }: Sidecar): Readiness {
  return {
    ok: !draining,
    state: draining ? 'not ready' : 'ready',
    reasons: draining ? ['the sidecar is draining'] : [],
    detail: { draining },
  };
}

function servers(text: string): AllowedServers {
  try {
    return listedServers(text.split(',').map((each) => each.trim()));
  } catch (error) {
    throw new InvalidArgumentError(`${messageOf(error)}.`);
  }
}

function server(text: string): string {
  if (!isHostPort(text)) throw new InvalidArgumentError('must be host:port.');
  return text;
}

const ROLES: readonly UpstreamRole[] = ['prefiller', 'decoder', 'encoder'];

function roles(text: string): readonly UpstreamRole[] {
  return text.split(',').map((each) => {
    const role = ROLES.find((name) => name === each.trim());
    if (role !== undefined) return role;
    throw new InvalidArgumentError(`${each} is none of ${ROLES.join(', ')}.`);
  });
}
