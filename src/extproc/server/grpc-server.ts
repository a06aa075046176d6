import { generate } from 'selfsigned';

export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** A certificate of our own for proxies that encrypt but do not verify, as the reference picker gives itself. */
export async function selfSignedCertificate(): Promise<Certificate> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'pointsman' }], {
    keySize: 2048,
    algorithm: 'sha256',
  });
  return { cert: Buffer.from(cert), key: Buffer.from(key) };
}
