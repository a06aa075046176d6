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

/**
 * Throws where `next` has expired and the certificate in use has not: clients that verify it would
 * refuse every new connection.
 */
export function refuseExpired(
  next: Buffer | string,
  { used, wallTimeMs }: { readonly used: Buffer | string; readonly wallTimeMs: number },
): void {
  const { validTo, subject } = new X509Certificate(next);
  if (wallTimeMs < Date.parse(validTo)) return;
  if (wallTimeMs >= Date.parse(new X509Certificate(used).validTo)) return;
  const message = `the certificate of ${subject} has expired on ${validTo}, and the one in use has not`;
  throw new Error(message);
}
