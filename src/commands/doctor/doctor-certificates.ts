import { X509Certificate } from 'node:crypto';
import type { Validity } from '../../doctor/check-certificates.ts';
import type { Finding } from '../../doctor/finding.ts';
import { knownFileFault } from '../../files/file-fault.ts';
import { readFollowed } from '../../files/following/read-followed.ts';
import { messageOf } from '../../framework/error.ts';

interface FileRead {
  readonly certificates: readonly Validity[];
  readonly findings: readonly Finding[];
}

const PEM = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs;

/**
 * Every certificate of a file in PEM. The certificates of authorities may stand behind the first.
 */
export function certificatesIn(file: string): FileRead {
  const where = `certificate ${file}`;
  try {
    const text = readFollowed(file).toString();
    const all = (text.match(PEM) ?? [text]).map((pem) => new X509Certificate(pem));
    const certificates = all.map(({ subject, validFrom, validTo }, place) => ({
      where: place === 0 ? where : `${where}, behind the first: ${subject.replaceAll('\n', ', ')}`,
      from: validFrom,
      until: validTo,
    }));
    return { certificates, findings: [] };
  } catch (error) {
    const what = `it cannot be read: ${whyNot(error)}.`;
    const mend = 'Give a file in PEM.';
    return {
      certificates: [],
      findings: [{ severity: 'error', id: 'certificate', where, what, mend }],
    };
  }
}

/** OpenSSL’s own text for a file without a certificate is a number of its sources. */
function whyNot(error: unknown): string {
  const known = knownFileFault(error);
  if (known !== undefined) return `it ${known}`;
  const why = messageOf(error);
  return why.includes('no start line') ? 'it has no line -----BEGIN CERTIFICATE-----' : why;
}
