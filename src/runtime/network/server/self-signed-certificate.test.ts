import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { selfSignedCertificate } from './self-signed-certificate.ts';

it('[O366] is valid before it is made, so that a clock a little behind takes it', async () => {
  const beginMs = Date.now();
  const { cert } = await selfSignedCertificate();
  const { validFrom, validTo } = new X509Certificate(cert);
  expect(Date.parse(validFrom)).toBeLessThan(beginMs - 3_500_000);
  expect(Date.parse(validTo)).toBeGreaterThan(beginMs + 364 * 24 * 3_600_000);
});
