import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Command } from 'commander';
import { fileFault } from '../../files/file-fault.ts';
import { readFollowed } from '../../files/following/read-followed.ts';
import { commandLineError } from '../../framework/error.ts';
import { SEND_INTERVAL_MS } from '../../replicas/replica.ts';
import type { ServeOptions } from '../../serve/options/serve-options.ts';
import { atLeastOne } from './option-values.ts';

export interface ReplicaFlags {
  readonly replicasNats?: string;
  readonly replicaId?: string;
  readonly replicasSubject?: string;
  readonly replicasIntervalMs: number;
  readonly replicasKeyFile?: string;
  readonly replicasNatsCreds?: string;
  readonly replicasNatsCa?: string;
  readonly replicasNatsCert?: string;
  readonly replicasNatsKey?: string;
  readonly poolName?: string;
}

/** The most that decisions of others may wait for their message. */
const INTERVAL_MS_MAX = 50;
const KEY_BYTES_MIN = 16;

export function addReplicaOptions(command: Command): Command {
  return command
    .option(
      '--replicas-nats <urls>',
      'share load, prompts and failures with the other pickers of the pool over this NATS server; ' +
        'see docs/replicas.md',
    )
    .option('--replica-id <id>', 'name of this picker among them (default: host name and chance)')
    .option(
      '--replicas-subject <subject>',
      'NATS subject of the pool’s pickers (default: "pointsman." and the pool’s name)',
    )
    .option(
      '--replicas-key-file <file>',
      'a key that all pickers of the pool have: other messages are not taken',
    )
    .option(
      '--replicas-interval-ms <ms>',
      'time within which what happened is sent, up to 50',
      atLeastOne,
      SEND_INTERVAL_MS,
    )
    .option('--replicas-nats-creds <file>', 'credentials for NATS')
    .option('--replicas-nats-ca <file>', 'authorities that NATS’s certificate is verified with')
    .option('--replicas-nats-cert <file>', 'certificate of this picker for NATS')
    .option('--replicas-nats-key <file>', 'key of that certificate');
}

/** Undefined without `--replicas-nats`. Throws ConfigError for files that cannot be used. */
export function replicasFrom(flags: ReplicaFlags): ServeOptions['replicas'] {
  const { replicasNats: servers, replicasIntervalMs: intervalMs, poolName = 'default' } = flags;
  if (servers === undefined) return undefined;
  if (intervalMs > INTERVAL_MS_MAX) {
    const message = `${intervalMs} ms are too long; give at most ${INTERVAL_MS_MAX}`;
    throw commandLineError('--replicas-interval-ms', message);
  }
  for (const url of servers.split(',')) checkServer(url.trim());
  const subject = flags.replicasSubject ?? `pointsman.${poolName}`;
  if (!/^[\w-]+(\.[\w-]+)*$/.test(subject))
    throw commandLineError(
      '--replicas-subject',
      `${subject} is no subject; give words separated by dots`,
    );
  const key = readKey(flags.replicasKeyFile);
  const { replicasNatsCa: caFile, replicasNatsCert: certFile, replicasNatsKey: keyFile } = flags;
  const hasTls = caFile !== undefined || certFile !== undefined;
  return {
    id: flags.replicaId ?? `${hostname()}-${randomBytes(4).toString('hex')}`,
    intervalMs,
    servers,
    subject,
    key,
    credentials: reader('--replicas-nats-creds', flags.replicasNatsCreds),
    tls: hasTls
      ? {
          ca: reader('--replicas-nats-ca', caFile),
          cert: reader('--replicas-nats-cert', certFile),
          key: reader('--replicas-nats-key', keyFile),
        }
      : undefined,
  };
}

function checkServer(url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const { protocol, hostname: host, username = '', pathname } = parsed ?? {};
  if (username !== '') {
    // Not repeated: it holds a secret.
    throw commandLineError(
      '--replicas-nats',
      'has credentials: give them with --replicas-nats-creds',
    );
  }
  const isNats = protocol === 'nats:' || protocol === 'tls:';
  if (isNats && host !== '' && (pathname === '' || pathname === '/')) return;
  const message = `"${url}" is not the URL of a NATS server: give nats://host:port or tls://host:port, several of one cluster separated by commas`;
  throw commandLineError('--replicas-nats', message);
}

function readKey(file: string | undefined): Uint8Array | undefined {
  const key = read('--replicas-key-file', file);
  if (key === undefined || key.length >= KEY_BYTES_MIN) return key;
  const message = `${file} has ${key.length} bytes; a key has at least ${KEY_BYTES_MIN}`;
  throw commandLineError('--replicas-key-file', message);
}

/** Reads the file once now, so that one that cannot be read is refused at the start. */
function reader(flag: string, file: string | undefined): (() => Uint8Array) | undefined {
  if (file === undefined) return undefined;
  read(flag, file);
  return () => readFollowed(file);
}

function read(flag: string, file: string | undefined): Uint8Array | undefined {
  if (file === undefined) return undefined;
  try {
    return readFollowed(file);
  } catch (error) {
    throw commandLineError(flag, `${file}: ${fileFault(error)}`);
  }
}
