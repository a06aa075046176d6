import { X509Certificate } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readFollowed } from '../../../files/following/read-followed.ts';
import type { Environment } from '../../../framework/runtime.ts';
import { loadTls } from '../../modules/node-modules.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** Distributions have about 150 authorities, in one file or in two files for each. */
const FILES_MAX = 1000;

/**
 * The certificates that `$SSL_CERT_FILE` and the folders of `$SSL_CERT_DIR` have, as PEM. What
 * cannot be read or is no certificate is passed over, as programs in Go do: such a folder has
 * keys and tokens, too.
 */
export function namedAuthorities(environment: Environment): readonly string[] {
  const folders = (environment['SSL_CERT_DIR'] ?? '').split(':').filter((each) => each !== '');
  const named = environment['SSL_CERT_FILE'] || undefined;
  const files = [...(named === undefined ? [] : [named]), ...folders.flatMap(filesOf)];
  const all = files.slice(0, FILES_MAX).flatMap(certificatesOf);
  return [...new Set(all)];
}

let areTrusted = false;

/**
 * To be called before a connection with TLS. From the first call on these are trusted beside the
 * well-known authorities, on every connection that is given none of its own. They are read once, as
 * in the reference, whose manifests name authorities by these variables; and not before, because
 * those of a whole system take 5 MB and 60 ms.
 */
export function trustNamedAuthorities(environment: Environment = process.env): void {
  if (areTrusted) return;
  areTrusted = true;
  const named = namedAuthorities(environment);
  if (named.length === 0) return;
  const tls = loadTls();
  // Node 22.18 cannot do it.
  if (!('setDefaultCACertificates' in tls)) return;
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), ...named]);
}

function filesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return [];
  }
}

function certificatesOf(file: string): readonly string[] {
  try {
    const found = readFollowed(file).toString('latin1').match(CERTIFICATE) ?? [];
    return found.filter(isCertificate);
  } catch {
    return [];
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
