import { join } from 'node:path';
import type { SecureContextOptions } from 'node:tls';
import type { Certificate } from '../../extproc/server/port/tls-credentials.ts';
import { messageOf } from '../../framework/error.ts';
import type { Clock } from '../../framework/runtime.ts';
import { selfSignedCertificate } from '../../runtime/network/server/self-signed-certificate.ts';
import { followedContext } from '../../serve/tls/followed-context.ts';
import { readCertificate } from '../../serve/tls/read-certificate.ts';
import { ciphersOf, minVersionOf } from '../../serve/tls/tls-versions.ts';
import type { ServingTls } from '../../sidecar/options/sidecar-options.ts';
import type { TlsFlags } from './flags/tls-flags.ts';

/**
 * TLS of the sidecar's port as the flags say; undefined without. Rejects with a ConfigError for
 * flags and files that cannot be used, and with the system's error for files that cannot be read.
 */
export async function servingTls(
  { secureServing, certPath = '', tlsMinVersion, tlsCipherSuites }: TlsFlags,
  { clock, log }: { readonly clock: Clock; readonly log: (line: string) => void },
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
  return followedContext({
    paths: names.map((name) => join(certPath, name)),
    first: read(),
    read,
    clock,
    onAdopted: () => log('certificate replaced; new connections use it'),
    onRefused: (reason) =>
      log(`certificate refused; the previous one continues to serve: ${reason}`),
    onUnwatched: (error) =>
      log(`the certificate cannot be watched (${messageOf(error)}); it is looked at once a second`),
  });
}
