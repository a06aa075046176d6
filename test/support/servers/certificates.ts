import { generate, type SelfsignedOptions } from 'selfsigned';
import type { Certificate } from '../../../src/extproc/server/port/tls-credentials.ts';

/** Certificates of authorities made for a test. Keys are of the kind that is made fastest. */

const DAY_MS = 24 * 3_600_000;
const EC: SelfsignedOptions = { keyType: 'ec', curve: 'P-256', algorithm: 'sha256' };

export async function newAuthority(name: string): Promise<Certificate> {
  const extensions: SelfsignedOptions['extensions'] = [
    { name: 'basicConstraints', cA: true, critical: true },
    { name: 'keyUsage', keyCertSign: true, critical: true },
  ];
  return made(name, { extensions });
}

interface Issuing {
  readonly beginsInDays?: number;
  readonly expiresInDays?: number;
  readonly ip?: string;
}

/** A certificate of that authority for servers on the loopback, and for clients. */
export async function issue(
  { cert, key }: Certificate,
  name: string,
  { beginsInDays = -30, expiresInDays = 90, ip = '127.0.0.1' }: Issuing = {},
): Promise<Certificate> {
  return made(name, {
    ca: { cert: cert.toString(), key: key.toString() },
    notBeforeDate: new Date(Date.now() + beginsInDays * DAY_MS),
    notAfterDate: new Date(Date.now() + expiresInDays * DAY_MS),
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 7, ip },
          { type: 2, value: name },
        ],
      },
    ],
  });
}

async function made(name: string, options: SelfsignedOptions): Promise<Certificate> {
  const pem = await generate([{ name: 'commonName', value: name }], { ...EC, ...options });
  return { cert: Buffer.from(pem.cert), key: Buffer.from(pem.private) };
}
