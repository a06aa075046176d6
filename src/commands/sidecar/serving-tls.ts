import { join } from 'node:path';
import type { SecureContextOptions } from 'node:tls';
import { selfSignedCertificate } from '../../extproc/server/grpc-server.ts';
import { watchFile } from '../../files/watch-file.ts';
import { messageOf } from '../../framework/error.ts';
import { readCertificate } from '../../serve/tls/read-certificate.ts';
import { ciphersOf, minVersionOf } from '../../serve/tls/tls-flags.ts';
import type { ServingTls } from '../../sidecar/sidecar-options.ts';
import type { SidecarFlags } from './sidecar-flags.ts';

type TlsFlags = Pick<
  SidecarFlags,
  'secureServing' | 'certPath' | 'tlsMinVersion' | 'tlsCipherSuites'
>;

/**
 * TLS of the sidecar's port as the flags say; undefined without. Rejects with a ConfigError for flags
 * and files that cannot be used, and with the system's error for files that cannot be read.
 */
export async function servingTls(
  { secureServing, certPath = '', tlsMinVersion, tlsCipherSuites }: TlsFlags,
  log: (line: string) => void,
): Promise<ServingTls | undefined> {
  const minVersion = minVersionOf(tlsMinVersion);
  const ciphers = ciphersOf(tlsCipherSuites);
  if (!secureServing) return undefined;
  const made = certPath === '' ? await selfSignedCertificate() : undefined;
  const context = (): SecureContextOptions => ({
    ...(made ?? readCertificate(certPath)),
    ...(minVersion !== undefined && { minVersion }),
    ...(ciphers !== undefined && { ciphers }),
  });
  context();
  return {
    context,
    follow: (use) =>
      followFiles(made === undefined ? certPath : undefined, () => use(context()), log),
  };
}

function followFiles(
  folder: string | undefined,
  take: () => void,
  log: (line: string) => void,
): { stop(): Promise<void> } {
  if (folder === undefined) return { stop: () => Promise.resolve() };
  const onChange = (): void => {
    try {
      take();
      log('certificate replaced; new connections use it');
    } catch (error) {
      log(`certificate refused; the previous one continues to serve: ${messageOf(error)}`);
    }
  };
  const onError = (error: unknown): void =>
    log(`the certificate cannot be watched: ${messageOf(error)}`);
  const watches = ['tls.crt', 'tls.key'].map((file) =>
    watchFile(join(folder, file), { onChange, onError }),
  );
  return { stop: async () => void (await Promise.all(watches.map((watch) => watch.stop()))) };
}
