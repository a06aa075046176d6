import { describe, expect, it } from 'vitest';
import { checkCertificates } from './check-certificates.ts';
import { envoyCertificates } from './check-envoy-state.ts';

const NOW_MS = Date.parse('2026-11-28T00:00:00Z');
const found = (from: string | undefined, until: string | undefined): readonly string[] =>
  checkCertificates([{ where: 'x', from, until }], NOW_MS).map(
    ({ severity, id, what }) => `${severity} ${id}: ${what}`,
  );

describe('[O298] the validity of certificates', () => {
  it('is a warning within 14 days of the end, to the second', () => {
    expect(found('2026-10-01', '2026-12-12T00:00:01Z')).toEqual([]);
    expect(found('2026-10-01', '2026-11-28T00:00:01Z')).toEqual([
      'warning certificate-ends: it is valid until 2026-11-28T00:00:01Z.',
    ]);
  });

  it('is an error once it is over, and before it begins', () => {
    expect(found('2026-10-01', '2026-11-28T00:00:00Z')).toEqual([
      'error certificate-ends: it is no longer valid since 2026-11-28T00:00:00Z.',
    ]);
    expect(found('2026-11-28T00:00:01Z', '2027-11-28')).toEqual([
      'error certificate-begins: it is not valid before 2026-11-28T00:00:01Z: until then clients that verify it refuse the connection.',
    ]);
  });

  it('is read from the dates that Envoy gives, because its days are whole ones', () => {
    const [certificate] = envoyCertificates({
      certificates: [
        { cert_chain: [{ path: 'tls.crt', expiration_time: '2026-11-28T12:00:00Z' }] },
      ],
    });
    expect(checkCertificates(certificate ? [certificate] : [], NOW_MS)).toMatchObject([
      { severity: 'warning', where: 'certificate tls.crt of Envoy' },
    ]);
    expect(found(undefined, undefined)).toEqual([]);
  });
});
