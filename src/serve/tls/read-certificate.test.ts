import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { selfSignedCertificate } from '../../runtime/network/server/self-signed-certificate.ts';
import { readAuthorities, readCertificate } from './read-certificate.ts';

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

it('[V269] refuses a list of authorities that is cut off within one of them', async () => {
  const [one, two] = [await selfSignedCertificate(), await selfSignedCertificate()];
  const path = join(folder, 'authorities.pem');
  writeFileSync(path, Buffer.concat([one.cert, Buffer.from('\n'), two.cert]));
  expect(readAuthorities(path).length).toBeGreaterThan(one.cert.length);
  writeFileSync(path, Buffer.concat([one.cert, Buffer.from('\n'), two.cert.subarray(0, 300)]));
  expect(() => readAuthorities(path)).toThrow('begins 2 certificates, of which 1 are whole');
});
