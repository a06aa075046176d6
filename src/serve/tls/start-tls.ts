import type { Registry } from 'prom-client';
import type { ClientFault } from '../../extproc/server/port/client-faults.ts';
import { type TlsContext, TlsCredentials } from '../../extproc/server/port/tls-credentials.ts';
import { commandLineError } from '../../framework/error.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { Log } from '../../runtime/log/log.ts';
import { selfSignedCertificate } from '../../runtime/network/server/self-signed-certificate.ts';
import { clientFaultLog } from './client-fault-log.ts';
import { type FollowedCertificate, followCertificate } from './follow-certificate.ts';
import { readAuthorities, readCertificate } from './read-certificate.ts';
import { ciphersOf, minVersionOf } from './tls-versions.ts';

/** Flags about TLS of the ext_proc port. */
export interface TlsOptions {
  /** Without TLS. Otherwise with the certificate in `certPath`, or a self-signed one. */
  readonly insecure: boolean;
  readonly certPath: string | undefined;
  /** Clients must have a certificate of one of these authorities. */
  readonly clientCaFile?: string | undefined;
  readonly tlsMinVersion?: string | undefined;
  readonly tlsCipherSuites?: string | undefined;
}

export interface ServeTls extends FollowedCertificate {
  readonly credentials: TlsCredentials | 'plaintext';
  /** Counts a client that cannot connect, and logs it. */
  readonly onClientFault: (fault: ClientFault) => void;
  /** For the line in the log at the start. */
  readonly description: string;
}

export interface TlsParts {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * TLS as the flags say, from files that are followed. Throws ConfigError for flags and files that
 * cannot be used, and the system's error for files that cannot be read.
 */
export async function startTls(options: TlsOptions, parts: TlsParts): Promise<ServeTls> {
  const { clientCaFile } = options;
  // The reference's flag is empty where there is no certificate.
  const certPath = options.certPath || undefined;
  const settings = {
    minVersion: minVersionOf(options.tlsMinVersion),
    ciphers: ciphersOf(options.tlsCipherSuites),
  };
  const onClientFault = clientFaultLog(parts);
  if (options.insecure)
    return { onClientFault, ...plaintext({ certPath, clientCaFile }, parts.log) };
  const made = certPath === undefined ? await selfSignedCertificate() : undefined;
  const read = (): TlsContext => ({
    ...settings,
    ...(made ?? readCertificate(certPath ?? '')),
    clientCa: clientCaFile === undefined ? undefined : readAuthorities(clientCaFile),
  });
  const first = read();
  const credentials = new TlsCredentials(first);
  const use = (context: TlsContext): void => credentials.replace(context);
  const following = followCertificate({ certPath, clientCaFile, first, read, use }, parts);
  const certificate = made === undefined ? `certificate in ${certPath}` : 'self-signed certificate';
  const clients = clientCaFile === undefined ? '' : `, clients of ${clientCaFile}`;
  return {
    credentials,
    onClientFault,
    description: `${certificate}${clients}, ${settings.minVersion ?? 'TLSv1.2'} or newer`,
    ...following,
  };
}

/** Without TLS. Throws ConfigError for authorities of clients, and warns of a certificate. */
function plaintext(
  { certPath, clientCaFile }: Pick<TlsOptions, 'certPath' | 'clientCaFile'>,
  log: Log,
): Omit<ServeTls, 'onClientFault'> {
  if (clientCaFile !== undefined) {
    const message = 'cannot be used with --insecure: without TLS clients have no certificate';
    throw commandLineError('--client-ca-file', message);
  }
  if (certPath !== undefined) {
    const message = '--cert-path has no effect: with --insecure ext_proc is served without TLS';
    log.warn({ certPath }, message);
  }
  const none = (): undefined => undefined;
  const nothing = { lastError: none, invalidity: none, stop: () => Promise.resolve() };
  return { credentials: 'plaintext', description: 'none', ...nothing };
}
