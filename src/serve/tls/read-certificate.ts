import { createPrivateKey, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import type { Certificate } from '../../extproc/server/port/tls-credentials.ts';
import { readFollowed } from '../../files/following/read-followed.ts';
import { ConfigError, messageOf } from '../../framework/error.ts';
import { loadTls } from '../../runtime/modules/node-modules.ts';

/**
 * Reads and checks `tls.crt` and `tls.key` of a folder. Throws the system's error for a file that
 * cannot be read, and ConfigError that names an invalid file.
 */
export function readCertificate(folder: string, flag = '--cert-path'): Certificate {
  const [certPath, keyPath] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  const cert = readFollowed(certPath);
  const key = readFollowed(keyPath);
  const { createSecureContext } = loadTls();
  attempt(certPath, () => createSecureContext({ cert }), whyNot(cert, 'CERTIFICATE'), flag);
  attempt(keyPath, () => createPrivateKey(key), whyNot(key, 'PRIVATE KEY'), flag);
  attempt(keyPath, () => createSecureContext({ cert, key }), `is not the key of ${certPath}`, flag);
  return { cert, key };
}

/**
 * Reads and checks the certificates of the authorities in `path`. Throws the system's error for a
 * file that cannot be read, and ConfigError for a file without certificates or with a damaged one.
 */
export function readAuthorities(path: string, flag = '--client-ca-file'): Buffer {
  const pem = readFollowed(path);
  const text = pem.toString('latin1');
  const blocks = text.match(CERTIFICATES) ?? [];
  if (blocks.length === 0) {
    throw new ConfigError(flag, [{ path, message: whyNot(pem, 'CERTIFICATE') }]);
  }
  const begun = text.split(BEGIN_CERTIFICATE).length - 1;
  if (begun !== blocks.length) {
    // Without this, half a file would lock out the clients of the authorities in the other half.
    const message = `begins ${begun} certificates, of which ${blocks.length} are whole: it is cut off or damaged`;
    throw new ConfigError(flag, [{ path, message }]);
  }
  for (const block of blocks) {
    attempt(path, () => new X509Certificate(block), 'is a damaged CERTIFICATE', flag);
  }
  return pem;
}

const BEGIN_CERTIFICATE = '-----BEGIN CERTIFICATE-----';
const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

function attempt(path: string, use: () => unknown, why: string, flag: string): void {
  try {
    use();
  } catch (error) {
    const said = messageOf(error);
    throw new ConfigError(flag, [{ path, message: `${why} (${said})` }]);
  }
}

/** Why a file would be invalid, judged by its first PEM label. */
function whyNot(pem: Buffer, wanted: 'CERTIFICATE' | 'PRIVATE KEY'): string {
  const label = /^-----BEGIN ([A-Z0-9 ]+)-----/m.exec(pem.toString('latin1'))?.[1];
  if (label === undefined) return `is not PEM: it has no line -----BEGIN ${wanted}-----`;
  if (label === 'ENCRYPTED PRIVATE KEY') {
    return 'is encrypted with a passphrase; decrypt it with openssl pkey';
  }
  // The label may be TRUSTED CERTIFICATE, for example, or EC PRIVATE KEY.
  return label.endsWith(wanted)
    ? `is a damaged ${wanted}`
    : `has a ${label}; it must have a ${wanted}`;
}
