/** A certificate and its key, as PEM. */
export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

const BACKDATED_MS = 3_600_000;
const VALID_MS = 365 * 24 * 3_600_000;

/**
 * A new certificate that its own key signs: for clients that encrypt but do not verify. It is valid
 * since an hour before and for a year, so that a clock that is a little behind takes it.
 */
export async function selfSignedCertificate(commonName = 'pointsman'): Promise<KeyPair> {
  // Loaded only where it is used.
  const { generate } = await import('selfsigned');
  const { cert, private: key } = await generate([{ name: 'commonName', value: commonName }], {
    keySize: 2048,
    algorithm: 'sha256',
    notBeforeDate: new Date(Date.now() - BACKDATED_MS),
    notAfterDate: new Date(Date.now() + VALID_MS),
  });
  return { cert: Buffer.from(cert), key: Buffer.from(key) };
}
