import { join } from 'node:path';
import type { SecureContextOptions } from 'node:tls';
import type { Registry } from 'prom-client';
import type { Certificate } from '../../extproc/server/port/tls-credentials.ts';
import { messageOf } from '../../framework/error.ts';
import type { Clock } from '../../framework/runtime.ts';
import { Reloads } from '../../journal/metrics/process/reloads.ts';
import { selfSignedCertificate } from '../../runtime/network/server/self-signed-certificate.ts';
import { followedContext } from '../../serve/tls/followed-context.ts';
import { readCertificate } from '../../serve/tls/read-certificate.ts';
import { ciphersOf, minVersionOf } from '../../serve/tls/tls-versions.ts';
import { showValidity } from '../../serve/tls/validity-metrics.ts';
import type { ServingTls } from '../../sidecar/options/sidecar-options.ts';
import type { TlsFlags } from './flags/tls-flags.ts';

interface ServingParts {
  readonly clock: Clock;
  readonly log: (line: string) => void;
  readonly registry: Registry;
}

/**
 * TLS of the sidecar's port as the flags say; undefined without. Rejects with a ConfigError for
 * flags and files that cannot be used, and with the system's error for files that cannot be read.
 */
export async function servingTls(
  { secureServing, certPath = '', tlsMinVersion, tlsCipherSuites }: TlsFlags,
  { clock, log, registry }: ServingParts,
): Promise<ServingTls | undefined> {
  const minVersion = minVersionOf(tlsMinVersion);
  const ciphers = ciphersOf(tlsCipherSuites);
  if (!secureServing) return undefined;
  const made = certPath === '' ? await selfSignedCertificate() : undefined;
  // A certificate that was made here is in no file.
  const names = made === undefined ? ['tls.crt', 'tls.key'] : [];
  const read = (): SecureContextOptions & Certificate => ({
    ...(made ?? readCertificate(certPath)),
    ...(minVersion !== undefined && { minVersion }),
    ...(ciphers !== undefined && { ciphers }),
  });
  const followed = followedContext({
    paths: names.map((name) => join(certPath, name)),
    first: read(),
    read,
    clock,
    ...countedChanges({ log, registry }),
  });
  showValidity(registry, { port: 'the port', used: followed.certificate });
  return followed;
}

/** Counts and logs what becomes of a certificate whose files change. */
function countedChanges({ log, registry }: Pick<ServingParts, 'log' | 'registry'>) {
  const reloads = new Reloads({
    registry,
    name: 'pointsman_certificate_reloads_total',
    help: 'Changes of the certificate of the port, adopted or refused.',
  });
  return {
    onAdopted: () => {
      reloads.adopted();
      log('certificate replaced; new connections use it');
    },
    onRefused: (reason: string) => {
      reloads.refused();
      log(`certificate refused; the previous one continues to serve: ${reason}`);
    },
    onUnwatched: (error: unknown) =>
      log(`the certificate cannot be watched (${messageOf(error)}); it is looked at once a second`),
  };
}
