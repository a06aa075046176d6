import { X509Certificate } from 'node:crypto';

/**
 * Why clients that verify this certificate refuse it now, however sound its files are; undefined
 * while it is valid. Ends a sentence that begins with the certificate.
 */
export function invalidityOf(cert: Buffer | string, wallTimeMs: number): string | undefined {
  const { validFrom, validTo } = new X509Certificate(cert);
  if (wallTimeMs < Date.parse(validFrom)) return 'is not valid yet';
  return wallTimeMs < Date.parse(validTo) ? undefined : 'has expired';
}
