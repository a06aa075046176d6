/** A certificate and its key, as PEM. */
export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** A new certificate that its own key signs: for clients that encrypt but do not verify. */
export async function selfSignedCertificate(commonName = 'pointsman'): Promise<KeyPair> {
  // Loaded only where it is used.
  const { generate } = await import('selfsigned');
  const { cert, private: key } = await generate([{ name: 'commonName', value: commonName }], {
    keySize: 2048,
    algorithm: 'sha256',
  });
  return { cert: Buffer.from(cert), key: Buffer.from(key) };
}
