import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { issue, newAuthority } from '../../../test/support/servers/certificates.ts';
import { checkCertificates } from '../../doctor/check-certificates.ts';
import { certificatesIn } from './doctor-certificates.ts';

describe('[O298] a file of certificates', () => {
  it('is read to its end, because one of its authorities may end first', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-certificates-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const authority = await newAuthority('root');
    const server = await issue(authority, 'server');
    const ended = await issue(authority, 'between', { expiresInDays: -1 });
    const file = join(folder, 'chain.pem');
    writeFileSync(file, Buffer.concat([server.cert, Buffer.from('\n'), ended.cert]));
    const { certificates, findings } = certificatesIn(file);
    expect(findings).toEqual([]);
    expect(checkCertificates(certificates, Date.now())).toMatchObject([
      { severity: 'error', where: `certificate ${file}, behind the first: CN=between` },
    ]);
  });

  it('that has none is named with what to give', () => {
    expect(certificatesIn(import.meta.filename).findings).toMatchObject([
      { severity: 'error', id: 'certificate', mend: 'Give a file in PEM.' },
    ]);
  });
});
