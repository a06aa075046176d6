import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { selfSignedCertificate } from '../../runtime/network/self-signed-certificate.ts';
import { readCertificate } from './read-certificate.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-certificate-'));
afterAll(() => rmSync(folder, { recursive: true }));

// Refused certificates and their messages are tested in test/commands/bad-input.test.ts.
it('returns a certificate with its chain, and its key, unchanged', async () => {
  const { cert, key } = await selfSignedCertificate();
  const chain = Buffer.concat([cert, Buffer.from('\n'), (await selfSignedCertificate()).cert]);
  writeFileSync(join(folder, 'tls.crt'), chain);
  writeFileSync(join(folder, 'tls.key'), key);
  expect(readCertificate(folder)).toEqual({ cert: chain, key });
});
